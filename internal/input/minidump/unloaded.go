package minidump

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// unloadedList is the type of the list of binaries that the program had unloaded, unloadedSize the size of
// MINIDUMP_UNLOADED_MODULE.
const unloadedList, unloadedSize = 14, 24

// maxUnloaded bounds the list; Windows keeps 64 (RTL_UNLOAD_EVENT_TRACE_NUMBER).
const maxUnloaded = 256

// unloaded says of each thread that runs where no binary lies any more which one lay there. A program that calls into a library
// that it has unloaded crashes so.
func (d *dump) unloaded(snap *target.Snapshot) {
	for i := range snap.Threads {
		t := &snap.Threads[i]
		pc, _, ok := snap.Arch.PCOf(&t.Regs)
		if _, loaded := snap.ModuleAt(pc); !ok || loaded {
			continue
		}
		if name, ok := d.unloadedAt(pc); ok {
			d.issue("thread %d runs at %#x, in %s, which the program had unloaded", t.ID, pc, name)
		}
	}
}

// unloadedAt is the name of the last of the list that lay at an address. The list says how large its header and its entries are.
func (d *dump) unloadedAt(addr uint64) (name string, ok bool) {
	r := bin.New(d.stream(unloadedList), d.big)
	head, size, n := uint64(r.U32()), uint64(r.U32()), min(r.U32(), maxUnloaded)
	r.Seek(head)
	for ; n > 0 && size >= unloadedSize && r.Err() == nil && r.Len() >= unloadedSize; n-- {
		e := bin.New(r.Bytes(min(size, uint64(r.Len()))), d.big)
		base, length := e.U64(), e.U32()
		e.Skip(8) // checksum, time
		if where := target.RangeOf(base, uint64(length)); where.Contains(addr) {
			name, ok = target.BaseName(d.text(e.U32())), true
		}
	}
	return name, ok
}
