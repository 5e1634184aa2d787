// Package gdb lets GDB unwind captures: it writes each as an ELF core and asks
// gdb-multiarch for the chain. GDB is the unwinder that everybody compares with.
package gdb

import (
	"encoding/binary"
	"os"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// core writes a snapshot as an ELF core of Linux: one NT_PRSTATUS and the memory,
// for the executable whose ELF header exe is.
func core(snap *target.Snapshot, exe []byte) []byte {
	w := writer{snap: snap, arch: snap.Arch, wide: exe[4] == 2, order: binary.LittleEndian}
	if snap.Arch.BigEndian {
		w.order = binary.BigEndian
	}
	return w.core(exe)
}

type writer struct {
	snap  *target.Snapshot
	arch  *cpu.Arch
	wide  bool // ELFCLASS64
	order binary.AppendByteOrder
	out   []byte
}

func (w *writer) u16(v uint16) { w.out = w.order.AppendUint16(w.out, v) }
func (w *writer) u32(v uint32) { w.out = w.order.AppendUint32(w.out, v) }

func (w *writer) word(v uint64) {
	if w.wide {
		w.out = w.order.AppendUint64(w.out, v)
		return
	}
	w.u32(uint32(v))
}

// load is a segment to write.
type load struct {
	addr, size uint64
	flags      uint32
	data       []byte
}

const page = 4096

// core lays out header, program headers, note, segments on page boundaries.
func (w *writer) core(exe []byte) []byte {
	note := w.prstatus()
	if w.arch.Name == "aarch64" {
		note = append(note, w.vectors()...)
	}
	loads := w.loads()
	header, entry := 52, 32
	if w.wide {
		header, entry = 64, 56
	}
	w.header(exe, header, entry, 1+len(loads))
	at := uint64(header + entry*(1+len(loads)))
	w.program(4, 0, at, 0, uint64(len(note)), 0, 4) // PT_NOTE; BFD reads notes by this alignment
	at = align(at + uint64(len(note)))
	for _, l := range loads {
		w.program(1, l.flags, at, l.addr, uint64(len(l.data)), l.size, page)
		at = align(at + uint64(len(l.data)))
	}
	w.out = append(w.out, note...)
	for _, l := range loads {
		w.out = append(w.out, make([]byte, align(uint64(len(w.out)))-uint64(len(w.out)))...)
		w.out = append(w.out, l.data...)
	}
	return w.out
}

func align(n uint64) uint64 { return (n + page - 1) &^ (page - 1) }

// header is that of a core, with the machine and flags of the executable.
func (w *writer) header(exe []byte, size, entry, count int) {
	w.out = append(w.out, exe[:7]...)
	w.out = append(w.out, make([]byte, 9)...) // BFD takes cores of ELFOSABI_NONE only
	w.u16(4)                                  // ET_CORE
	w.out = append(w.out, exe[18:20]...)
	w.u32(1)
	w.word(0)
	w.word(uint64(size))
	w.word(0)
	w.out = append(w.out, exe[size-16:size-12]...) // e_flags
	for _, v := range []int{size, entry, count, 0, 0, 0} {
		w.u16(uint16(v))
	}
}

func (w *writer) program(kind, flags uint32, off, addr, size, memory, alignment uint64) {
	w.u32(kind)
	if w.wide {
		w.u32(flags)
	}
	w.word(off)
	w.word(addr)
	w.word(0)
	w.word(size)
	w.word(max(size, memory))
	if !w.wide {
		w.u32(flags)
	}
	w.word(alignment)
}

// loads are the writable segments of the images and what was captured. GDB takes
// the code from the executable.
func (w *writer) loads() (ls []load) {
	for _, m := range w.snap.Modules {
		for i := range m.Image.Segments {
			s := &m.Image.Segments[i]
			ls = append(ls, load{m.ToTarget(s.Addr), s.Size, 6, s.Data})
		}
	}
	for _, s := range w.snap.Memory.Segments() {
		ls = append(ls, load{s.Addr, uint64(len(s.Data)), 7, s.Data})
	}
	return ls
}

// prstatus is the NT_PRSTATUS note: signal 5, process 1000, the registers.
func (w *writer) prstatus() []byte {
	pid, regs := 24, 72
	if w.wide {
		pid, regs = 32, 112
	}
	l, ok := w.arch.Layouts[cpu.LinuxPrstatus]
	if !ok { // Cortex-M: r0 to r15 and xpsr as GDB sends them, and a word as on Linux (gdb/arm-none-tdep.c)
		l = w.arch.Layouts[cpu.GDBPacket]
		l.Size += w.arch.RegSize
	}
	desc := make([]byte, regs+l.Size+4)
	put := func(off, size int, v uint64) {
		for i := range size {
			k := off + i
			if w.arch.BigEndian {
				k = off + size - 1 - i
			}
			desc[k] = byte(v >> (8 * i))
		}
	}
	put(12, 2, 5)
	put(pid, 4, 1000)
	t := &w.snap.Threads[0]
	for _, s := range l.Slots {
		if v, ok := t.Regs.Lookup(s.Reg); ok {
			put(regs+s.Offset, s.Size, v)
		}
	}
	w.segments(func(off int, v uint64) { put(regs+off, w.arch.RegSize, v) })
	for len(desc)%8 != 0 && w.arch.RegSize == 8 {
		desc = append(desc, 0)
	}
	return w.note("CORE", 1, desc) // NT_PRSTATUS
}

// note is a note of a type.
func (w *writer) note(name string, kind uint32, desc []byte) []byte {
	n := writer{order: w.order}
	n.u32(uint32(len(name) + 1))
	n.u32(uint32(len(desc)))
	n.u32(kind)
	n.out = append(n.out, name...)
	n.out = append(n.out, make([]byte, 4-len(name)%4)...)
	n.out = append(n.out, desc...)
	return append(n.out, make([]byte, -len(desc)&3)...)
}

// vectors is the NT_ARM_SVE note that Linux writes for a thread of a processor with scalable vectors
// (arch/arm64/kernel/ptrace.c, sve_get): the length of a vector and the floating-point registers, here
// zeros. QEMU's processor "max", on which programs of AArch64 are recorded, has 64 bytes in user mode. GDB
// 13 compares the length with that in signal frames and, if it knows none, loops forever.
func (w *writer) vectors() []byte {
	const (
		noteSVE  = 0x405
		header   = 16
		fpsimd   = 32*16 + 2*4 + 2*4 // v0–v31, FPSR, FPCR, a gap
		vector   = 64
		maxState = header + 34*vector + 17*vector/8
	)
	n := writer{order: w.order}
	n.u32(header + fpsimd)
	n.u32(maxState)
	n.u16(vector)
	n.u16(vector)
	n.u32(0) // flags: no vectors
	return w.note("LINUX", noteSVE, append(n.out, make([]byte, fpsimd)...))
}

// segments gives x86 the code and stack selectors of a Linux process: GDB tells
// 64-bit code by them.
func (w *writer) segments(put func(off int, v uint64)) {
	switch w.arch.Name {
	case "x86_64":
		put(17*8, 0x33)
		put(20*8, 0x2b)
	case "i386":
		put(13*4, 0x73)
		put(16*4, 0x7b)
	}
}

// write makes the core of a snapshot beside an executable.
func write(path, elf string, snap *target.Snapshot) error {
	f, err := os.Open(elf)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 64)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	return os.WriteFile(path, core(snap, head), 0o600)
}
