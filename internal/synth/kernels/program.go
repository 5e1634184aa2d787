package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Program is a program of a task: what it maps, and where it entered the kernel.
//
//	400000 r-x  the file's first page       401000 r-x  its code: _start, main, level1, level2
//	402000 rw-  its data                    7ffffffff000 rw-  its stack
//
// It waits in a system call of level2, called by level1, main and _start.
type Program struct {
	Task, Path string
	// Maple: the mappings are in a maple tree, else on a list.
	Maple bool
	// StackEntry is what the tables have for the stack's page, 0 for a page of it.
	StackEntry uint64
	// Narrow: the auxiliary vector is that of a 32-bit program, and so are the registers.
	Narrow bool
}

// Addresses of every Program.
const (
	ProgramHead, ProgramCode, ProgramData, ProgramStack = 0x40_0000, 0x40_1000, 0x40_2000, 0x7fff_f000
	programSP                                           = ProgramStack + 0xe00
	programPage                                         = 4096
)

// Offsets of fields of this kernel's structures.
const (
	taskMM                                 = 112 // active_mm follows
	mmMmap, mmRoot, mmPGD, mmAuxv, mmSize  = 0, 8, 72, 0x160, 0x400
	vmaMM, vmaFlags, vmaPgoff, vmaSize     = 32, 48, 96, 160
	filePath, fileSize                     = 64, 192
	dentryParent, dentryName, dentryInline = 24, 40, 56
	dentrySize, mountInside, mountSize     = 128, 32, 128
	aboveRegs                              = 0x150 // from pt_regs to the top of the stack
)

// Functions are where the program's functions begin, and where their calls return to; level2 returns from its system call.
func (*Program) Functions() (begin, resume map[string]uint64) {
	begin = map[string]uint64{"_start": ProgramCode, "main": ProgramCode + 0x20, "level1": ProgramCode + 0x40, "level2": ProgramCode + 0x60}
	return begin, map[string]uint64{"_start": ProgramCode + 12, "main": ProgramCode + 0x2c, "level1": ProgramCode + 0x4c, "level2": ProgramCode + 0x68}
}

// File is the program's file: ELF for AArch64, without sections.
func (*Program) File() []byte {
	le, b := binary.LittleEndian, make([]byte, 3*programPage)
	copy(b, "\x7fELF\x02\x01\x01")
	for at, v := range map[int]uint16{16: 2, 18: 183, 20: 1, 52: 64, 54: 56, 56: 3} {
		le.PutUint16(b[at:], v)
	}
	le.PutUint64(b[24:], ProgramCode)
	le.PutUint64(b[32:], 64)
	for i, p := range [][6]uint64{{1, 5, 0, ProgramHead, 2 * programPage, 2 * programPage}, {1, 6, 2 * programPage, ProgramData, programPage, programPage}, {4, 4, 0x200, ProgramHead + 0x200, 36, 36}} {
		at := 64 + 56*i
		le.PutUint32(b[at:], uint32(p[0]))
		le.PutUint32(b[at+4:], uint32(p[1]))
		for k, v := range []uint64{p[2], p[3], p[3], p[4], p[5], programPage} {
			le.PutUint64(b[at+8+8*k:], v)
		}
	}
	copy(b[0x200:], "\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00a program's build ID")
	for at, words := range map[int][]uint32{
		0x00: {0xd280001d, 0xd280001e, 0x94000006, 0xd4200000},             // mov x29, #0; mov x30, #0; bl main; brk
		0x20: {0xa9bf7bfd, 0x910003fd, 0x94000006, 0xa8c17bfd, 0xd65f03c0}, // stp x29, x30, [sp, #-16]!; mov x29, sp; bl level1; ldp; ret
		0x40: {0xa9bf7bfd, 0x910003fd, 0x94000006, 0xa8c17bfd, 0xd65f03c0}, // the same, bl level2
		0x60: {0xd2800808, 0xd4000001, 0xd65f03c0},                         // mov x8, #64; svc #0; ret
	} {
		for i, w := range words {
			le.PutUint32(b[programPage+at+4*i:], w)
		}
	}
	return b
}

// Stack is the page of the stack: the records of level1 and main.
func (p *Program) Stack() []byte {
	page := make([]byte, programPage)
	_, resume := p.Functions()
	for i, w := range []uint64{programSP + 16, resume["main"], 0, resume["_start"]} {
		binary.LittleEndian.PutUint64(page[programSP%programPage+8*i:], w)
	}
	return page
}

// Run makes a task of the machine one of a program.
func (m *Machine) Run(p *Program) {
	task := RAMBase + uint64(bytes.Index(m.RAM, []byte(p.Task+"\x00"))) - taskComm
	mm, pgd := m.alloc(mmSize, 64), m.alloc(4096, 4096)
	m.Put(task+taskMM, linear(mm))
	m.Put(task+taskMM+8, linear(mm))
	m.Put(mm+mmPGD, linear(pgd))
	m.auxv(mm+mmAuxv, p)
	file := m.file(p.Path)
	image := p.File()
	stack := m.alloc(programPage, programPage)
	_, resume := p.Functions()
	copy(m.at(stack), p.Stack())
	pages := m.alloc(len(image), programPage)
	copy(m.at(pages), image)
	kernel := m.Root
	m.Root = pgd
	m.mapBlocks(ProgramHead, pages, 3)
	m.mapPage(ProgramStack, stack)
	if p.StackEntry != 0 {
		m.entry(ProgramStack, p.StackEntry)
	}
	m.Root = kernel
	m.mappings(mm, p.Maple, file)
	m.entered(task, p, resume)
}

// entry replaces the last entry of a page in the tables.
func (m *Machine) entry(va, v uint64) {
	table := m.Root
	for _, shift := range []uint{39, 30, 21} {
		table = m.Word(table+va>>shift&511*8) &^ 0xfff
	}
	m.Put(table+va>>12&511*8, v)
}

// auxv writes an auxiliary vector.
func (m *Machine) auxv(at uint64, p *Program) {
	for i, v := range []uint64{16, 0xff, 6, programPage, 3, ProgramHead + 64, 9, ProgramCode, 25, ProgramStack + 0xf00, 0, 0} {
		if p.Narrow {
			binary.LittleEndian.PutUint32(m.at(at+4*uint64(i)), uint32(v))
		} else {
			m.Put(at+8*uint64(i), v)
		}
	}
}

// entered writes what the task was interrupted with, struct pt_regs.
func (m *Machine) entered(task uint64, p *Program, resume map[string]uint64) {
	regs := m.Word(task+taskStack) - Linear + RAMBase + stackSize - aboveRegs
	set := func(reg int, v uint64) { m.Put(regs+8*uint64(reg), v) }
	sp, lr, mode := 31, 30, uint64(0)
	if p.Narrow {
		sp, lr, mode = 13, 14, 0x10
	}
	set(29, programSP)
	set(lr, resume["level1"])
	set(sp, programSP)
	set(32, resume["level2"])
	set(33, mode)
}

// mappings writes an address space's.
func (m *Machine) mappings(mm uint64, maple bool, file uint64) {
	const read, write, exec, may = 1, 2, 4, 0x70
	var list []uint64
	for _, v := range [][4]uint64{{ProgramHead, ProgramData, read | exec | may, 1}, {ProgramData, ProgramData + programPage, read | write | may, 1},
		{ProgramStack, ProgramStack + programPage, read | write | may, 0}} {
		at := m.alloc(vmaSize, 64)
		m.Put(at, v[0])
		m.Put(at+8, v[1])
		m.Put(at+vmaMM, linear(mm))
		m.Put(at+vmaFlags, v[2])
		if m.Put(at+vmaPgoff, v[0]/programPage); v[3] != 0 {
			m.Put(at+vmaPgoff, (v[0]-ProgramHead)/programPage)
			m.Put(at+vmaPgoff+8, linear(file))
		}
		list = append(list, at)
	}
	if maple {
		m.Put(mm+mmRoot, linear(m.tree(list))|1<<3|2)
		return
	}
	m.Put(mm+mmMmap, linear(list[0]))
	for i, at := range list[:len(list)-1] {
		m.Put(at+16, linear(list[i+1]))
	}
}

// tree is a maple tree of one leaf.
func (m *Machine) tree(list []uint64) uint64 {
	node := m.alloc(256, 256)
	slot, last := uint64(0), uint64(0)
	add := func(hi, vma uint64) {
		m.Put(node+8+8*slot, hi)
		m.Put(node+8*16+8*slot, vma)
		slot, last = slot+1, hi+1
	}
	for _, at := range list {
		if lo := m.Word(at); lo != last {
			add(lo-1, 0)
		}
		add(m.Word(at+8)-1, linear(at))
	}
	add(^uint64(0), 0)
	m.Put(node+8*16+8*slot, linear(list[0])) // left over
	return node
}

// file is a file on the machine's one file system.
func (m *Machine) file(path string) uint64 {
	dentry := func(name string, parent uint64) uint64 {
		at := m.alloc(dentrySize, 64)
		if parent == 0 {
			parent = at
		}
		m.Put(at+dentryParent, linear(parent))
		m.Put(at+dentryName-8, uint64(len(name))<<32|0xabcd)
		m.Put(at+dentryName, linear(at+dentryInline))
		copy(m.at(at+dentryInline), name)
		return at
	}
	root := dentry("/", 0)
	mount := m.alloc(mountSize, 64)
	m.Put(mount+16, linear(mount))
	m.Put(mount+24, linear(root))
	m.Put(mount+mountInside, linear(root))
	at := root
	for _, name := range bytes.Split([]byte(path), []byte("/"))[1:] {
		at = dentry(string(name), at)
	}
	file := m.alloc(fileSize, 64)
	m.Put(file+filePath, linear(mount+mountInside))
	m.Put(file+filePath+8, linear(at))
	return file
}

// Address is the virtual address of a task's name, and its stack.
func (m *Machine) Address(task string) (comm, stackLow, stackHigh uint64) {
	at := bytes.Index(m.RAM, []byte(task+"\x00"))
	if at < 0 {
		panic(fmt.Sprintf("no task %q", task))
	}
	low := m.Word(RAMBase + uint64(at) - taskComm + taskStack)
	return Linear + uint64(at), low, low + stackSize
}
