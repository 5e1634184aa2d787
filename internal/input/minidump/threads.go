package minidump

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Sizes of MINIDUMP_THREAD and MINIDUMP_THREAD_NAME.
const threadSize, threadNameSize = 48, 12

// thread is an entry of the list of threads.
type thread struct {
	id      uint32
	from    uint64 // of the stack
	stack   location
	context location
}

func readThread(r *bin.Reader) (t thread) {
	t.id = r.U32()
	r.Skip(20) // suspend count, priorities, TEB
	t.from, t.stack, t.context = r.U64(), readLocation(r), readLocation(r)
	return t
}

// firstContextFlags are the flags of the first thread's CONTEXT.
func (d *dump) firstContextFlags() uint32 {
	for r := range d.entries(threadList, threadSize) {
		t := readThread(&r)
		c := bin.New(d.at(t.context), d.big)
		return c.U32()
	}
	return 0
}

// threads decodes the registers of all threads. Of the thread that crashed the registers count that the exception has:
// its own are those of the handler that wrote the dump, or equal.
func (d *dump) threads(arch *cpu.Arch, crash *crash) (list []target.Thread) {
	names := d.names()
	short := 0
	most := min(int64(d.streams[threadList].size/threadSize), d.room.threads.Left())
	for r := range d.entries(threadList, threadSize) {
		if !d.room.threads.Draw(1) {
			break
		}
		t := readThread(&r)
		crashed := crash.present && crash.thread == t.id
		regs, ok := d.registers(arch, t.context)
		if crashed {
			if at, has := d.registers(arch, crash.context); has {
				regs, ok = at, true
			}
		}
		if !ok {
			short++
			continue
		}
		if list == nil { // to grow would leave more than twice as much behind
			list = make([]target.Thread, 0, most)
		}
		list = append(list, target.Thread{ID: int(t.id), Name: names[t.id], Regs: regs, Crashed: crashed})
	}
	if short > 0 {
		d.issue("offset %#x: %d threads have no whole register block", d.streams[threadList].rva, short)
	}
	return list
}

// registers decodes a CONTEXT; false where the file has none there, or none with a PC.
func (d *dump) registers(arch *cpu.Arch, l location) (regs cpu.Registers, ok bool) {
	regs = arch.Read(arch.Layouts[cpu.MinidumpContext], d.at(l))
	_, ok = regs.Lookup(arch.PC)
	return regs, ok
}

// names are the names of threads, by their IDs; of no more than there may be threads.
func (d *dump) names() map[uint32]string {
	names := map[uint32]string{}
	for r := range d.entries(threadNames, threadNameSize) {
		if int64(len(names)) == d.room.threads.Left() {
			break
		}
		id, rva := r.U32(), r.U64()
		if rva < uint64(len(d.data)) && rva>>32 == 0 {
			names[id] = d.text(uint32(rva))
		}
	}
	return names
}
