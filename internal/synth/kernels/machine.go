package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Machine is the physical memory of an arm64 machine that runs a kernel of ARM64: the kernel
// and its data, page tables of four levels for 4 KB pages, tasks with their stacks.
type Machine struct {
	RAM     []byte
	Offset  uint64 // virtual minus physical address of the kernel
	Symbols []Symbol
	Root    uint64 // the physical address of swapper_pg_dir
	next    uint64
	tables  uint64 // the physical address of the tables of names
	info    uint64 // that of VMCOREINFO
}

// RAMBase is where the memory begins, RAMSize its size. Linear is the virtual address that
// shows the first byte.
const (
	RAMBase = 0x4000_0000
	RAMSize = 1 << 20
	Linear  = 0xffff_0000_0000_0000
)

// Offsets of the fields of this kernel's task_struct.
const (
	taskStack, taskOnCPU, taskList, taskPID, taskLeader, taskComm, taskContext, taskSize = 24, 44, 64, 96, 104, 128, 192, 320
)

// stackSize is THREAD_SIZE.
const stackSize = 0x4000

// NewMachine makes a machine whose tasks have these names; the first is that of the idle
// task. The second task of the list is running. Every other task was switched out in
// function0, called by function1, called by function2.
func NewMachine(names ...string) *Machine {
	code, flat := ARM64()
	m := &Machine{RAM: make([]byte, RAMSize), Symbols: code.Symbols(), next: RAMBase}
	image := m.alloc(len(flat), 4096)
	m.Offset = code.Link - image
	copy(m.at(image), flat)
	m.tables = image + uint64(bytes.Index(flat, []byte(Banner))+len(Banner)+15)&^15
	for i := range 3 {
		m.calls(m.Symbols[i].Addr, m.Symbols[(i+9)%10].Addr)
	}
	m.Root = m.alloc(4096, 4096)
	m.mapBlocks(code.Link, image, (len(flat)+4095)/4096+64)
	m.mapBlocks(Linear, RAMBase, RAMSize/4096)
	m.tasks(names)
	m.identity()
	return m
}

// at is memory from a physical address on.
func (m *Machine) at(pa uint64) []byte { return m.RAM[pa-RAMBase:] }

func (m *Machine) alloc(n int, align uint64) uint64 {
	pa := (m.next + align - 1) &^ (align - 1)
	m.next = pa + uint64(n)
	return pa
}

// Put stores a word at a physical address.
func (m *Machine) Put(pa, v uint64) { binary.LittleEndian.PutUint64(m.at(pa), v) }

// Word is the word at a physical address.
func (m *Machine) Word(pa uint64) uint64 { return binary.LittleEndian.Uint64(m.at(pa)) }

// calls makes the function at an address call another: stp x29,x30,[sp,#-16]!; mov x29,sp;
// bl other; ldp x29,x30,[sp],#16; ret.
func (m *Machine) calls(function, other uint64) {
	bl := uint32(other-function-8) >> 2 & 0x03ff_ffff
	for i, w := range []uint32{0xa9bf7bfd, 0x910003fd, 0x94000000 | bl, 0xa8c17bfd, 0xd65f03c0} {
		binary.LittleEndian.PutUint32(m.at(function - m.Offset)[4*i:], w)
	}
}

// returnOffset is where the call of such a function returns to.
const returnOffset = 12

// mapBlocks maps pages that lie side by side.
func (m *Machine) mapBlocks(va, pa uint64, pages int) {
	for i := range uint64(pages) {
		m.mapPage(va+i*4096, pa+i*4096)
	}
}

// mapPage adds a page to the tables: entries of tables and pages end in 3; pages are
// accessed, shareable, and may be executed by the kernel.
func (m *Machine) mapPage(va, pa uint64) {
	table := m.Root
	for _, shift := range []uint{39, 30, 21} {
		slot := table + va>>shift&511*8
		if m.Word(slot) == 0 {
			m.Put(slot, m.alloc(4096, 4096)|3)
		}
		table = m.Word(slot) &^ 0xfff
	}
	m.Put(table+va>>12&511*8, pa|0x703)
}

// linear is the virtual address of a physical one.
func linear(pa uint64) uint64 { return pa - RAMBase + Linear }

// tasks makes tasks on a list. The first is linked into the kernel.
func (m *Machine) tasks(names []string) {
	var at []uint64
	for i, name := range names {
		t := m.alloc(taskSize, 16)
		stack := m.alloc(stackSize, stackSize)
		copy(m.at(t+taskComm), name)
		m.Put(t+taskStack, linear(stack))
		m.Put(t+taskPID, uint64(i)|uint64(i)<<32)
		if i == 1 {
			binary.LittleEndian.PutUint32(m.at(t+taskOnCPU), 1)
		}
		m.switchOut(t, stack+stackSize-0x200+uint64(i)*16)
		at = append(at, t)
	}
	for i, t := range at {
		next := at[(i+1)%len(at)]
		m.Put(t+taskLeader, m.virtual(t, i == 0))
		m.Put(t+taskList, m.virtual(next, i == len(at)-1)+taskList)
		m.Put(next+taskList+8, m.virtual(t, i == 0)+taskList)
	}
}

// virtual is the address of a task; the first is seen where the kernel is.
func (m *Machine) virtual(t uint64, first bool) uint64 {
	if first {
		return t + m.Offset
	}
	return linear(t)
}

// switchOut saves a context: SP on a stack with the records of three functions.
func (m *Machine) switchOut(t, sp uint64) {
	ctx := t + taskContext
	m.Put(ctx+8*10, linear(sp))
	m.Put(ctx+8*11, linear(sp))
	m.Put(ctx+8*12, m.Symbols[0].Addr+returnOffset)
	for i := range uint64(2) {
		m.Put(sp+16*i, linear(sp+16*(i+1)))
		m.Put(sp+16*i+8, m.Symbols[i+1].Addr+returnOffset)
	}
	m.Put(sp+40, m.Symbols[9].Addr)
}

// identity writes the answer to uname, and VMCOREINFO behind a format like it.
func (m *Machine) identity() {
	uts := m.alloc(512, 16)
	for i, s := range []string{"Linux", "host", "6.1.0-synth", "#1 SMP test", "aarch64"} {
		copy(m.at(uts)[65*i:], s)
	}
	m.info = m.alloc(4096, 4096)
	copy(m.at(m.info), "OSRELEASE=%s\n\x00"+m.Info(uts))
}

// Unprepared makes the kernel one that is not built for dumps: without VMCOREINFO and names. The code is as
// large kernels' code is, with calls all over, and the data have heads of empty lists.
func (m *Machine) Unprepared() {
	clear(m.at(m.info)[:4096])
	const heads, apart = 32, 64
	for i := range uint64(heads) {
		at := m.info + apart*i
		m.Put(at, at+m.Offset)
		m.Put(at+8, at+m.Offset)
	}
	functions := m.Symbols[:len(m.Symbols)-1]
	for i := 10; i < len(functions); i++ {
		m.calls(functions[i].Addr, functions[i%10].Addr)
	}
	clear(m.at(m.tables)[:(m.Root-m.tables)&^4095])
}

// OneProcessor makes the kernel one for one processor (no CONFIG_SMP), on which a task was running:
// struct rq has the addresses of that task and of the idle task.
func (m *Machine) OneProcessor(running string) {
	task := func(name string) uint64 {
		return RAMBase + uint64(bytes.Index(m.RAM, []byte(name+"\x00"))) - taskComm
	}
	idle := task("swapper")
	m.Put(m.info+2048, linear(task(running)))
	m.Put(m.info+2056, idle+m.Offset)
}

// Info is VMCOREINFO for a machine whose struct new_utsname lies at a physical address.
func (m *Machine) Info(uts uint64) string {
	return fmt.Sprintf("OSRELEASE=6.1.0-synth\nPAGESIZE=4096\nSYMBOL(init_uts_ns)=%x\nOFFSET(uts_namespace.name)=4\n"+
		"SYMBOL(swapper_pg_dir)=%x\nSYMBOL(_stext)=%x\nNUMBER(VA_BITS)=48\nKERNELOFFSET=0\n",
		uts+m.Offset-4, m.Root+m.Offset, m.Symbols[0].Addr)
}

// Vmcore is the memory as QEMU dumps it: an ELF file with the registers of processors.
func (m *Machine) Vmcore(pcs ...uint64) []byte {
	le := binary.LittleEndian
	var notes []byte
	for _, pc := range pcs {
		desc := make([]byte, 392)
		le.PutUint64(desc[112+8*31:], linear(RAMBase))
		le.PutUint64(desc[112+8*32:], pc)
		notes = le.AppendUint32(le.AppendUint32(le.AppendUint32(notes, 5), uint32(len(desc))), 1)
		notes = append(append(notes, "CORE\x00\x00\x00\x00"...), desc...)
	}
	const header = 64 + 2*56
	b := make([]byte, header)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 4)
	le.PutUint16(b[18:], 183)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	for i, s := range [][]uint64{{4, header, 0, 0, uint64(len(notes))}, {1, header + uint64(len(notes)), RAMBase, RAMBase, RAMSize}} {
		at := 64 + 56*i
		le.PutUint32(b[at:], uint32(s[0]))
		for k, v := range s[1:] {
			le.PutUint64(b[at+8+8*k:], v)
		}
		le.PutUint64(b[at+40:], s[4])
	}
	return append(append(b, notes...), m.RAM...)
}
