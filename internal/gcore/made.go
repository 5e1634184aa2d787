package gcore

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// Stopped is a process of which no system is asked: that of another machine.
type Stopped struct {
	Arch    *cpu.Arch
	Threads []target.Thread
	Maps    []procfs.Mapping
	Auxv    []byte
	Memory  target.Pager
}

// Made makes a core of a process, with all of its memory that there is, Options.Total at most. What of a mapping is missing has its place
// in the core and no bytes, so that readers look for it in files.
func Made(p *Stopped, opt Options) *Core {
	b := &builder{ident: identOf(p.Arch), order: binary.LittleEndian, wide: p.Arch.ELF.Class == 2, arch: p.Arch, maps: p.Maps, auxv: p.Auxv}
	if p.Arch.BigEndian {
		b.order = binary.BigEndian
	}
	core := &Core{Threads: map[int]string{}}
	for i := range p.Threads {
		t := &p.Threads[i]
		b.threads = append(b.threads, thread{id: t.ID, regs: b.block(&t.Regs)})
		core.Threads[t.ID] = t.Name
	}
	left := room{opt.total(), maxLooks}
	for i := range p.Maps {
		b.pieces = append(b.pieces, left.present(&p.Maps[i], p.Memory)...)
	}
	core.parts = b.core(b.notes())
	return core
}

// identOf is the head of an ELF file of a processor.
func identOf(arch *cpu.Arch) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	ident := append(make([]byte, 0, identSize), "\x7fELF"...)
	ident = append(ident, arch.ELF.Class, 1, 1)[:identSize]
	if arch.BigEndian {
		ident[5], order = 2, binary.BigEndian
	}
	order.PutUint16(ident[machineAt:], arch.ELF.Machine)
	at := 36
	if arch.ELF.Class == 2 {
		at = 48
	}
	order.PutUint32(ident[at:], arch.ELF.Flags)
	return ident
}

// block are registers as NT_PRSTATUS has them; those that are not known are 0.
func (b *builder) block(regs *cpu.Registers) []byte {
	l := b.arch.Layouts[cpu.LinuxPrstatus]
	block := make([]byte, l.Size)
	for _, s := range l.Slots {
		v, _ := regs.Lookup(s.Reg)
		if s.Size == 8 {
			b.order.PutUint64(block[s.Offset:], v)
		} else {
			b.order.PutUint32(block[s.Offset:], uint32(v))
		}
	}
	return block
}

// maxLooks bounds the pages that are looked for: 256 GB of mappings. Most of a mapping that a program keeps room by is not there.
const maxLooks = 1 << 26

// room is how much may still be copied, and looked for.
type room struct {
	bytes uint64
	looks int
}

// present are the parts of a mapping, with the pages that are there and without.
func (r *room) present(m *procfs.Mapping, memory target.Pager) (list []piece) {
	var buf [page]byte
	at := m.Lo
	for ; at < m.Hi && r.looks > 0 && r.bytes >= page; at += page {
		r.looks--
		n, _ := memory.ReadPage(at, buf[:])
		last := len(list) - 1
		if last < 0 || (n == page) != (list[last].data != nil) {
			list = append(list, piece{lo: at, mode: m.Perms})
			last++
		}
		p := &list[last]
		if p.size += page; n == page {
			p.data = append(p.data, buf[:]...)
			r.bytes -= page
		}
	}
	if at < m.Hi {
		list = append(list, piece{lo: at, size: m.Hi - at, mode: m.Perms})
	}
	return list
}
