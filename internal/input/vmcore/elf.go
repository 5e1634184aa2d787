package vmcore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Names of the gABI and of Linux's include/uapi/linux/elf.h.
const (
	etCore     = 4
	ptLoad     = 1
	ptNote     = 4
	pnXNum     = 0xffff
	ntPRStatus = 1
	ntPRPSInfo = 3
	ntAuxv     = 6
)

// elfHeader is the part of an ELF header that matters.
type elfHeader struct {
	wide, big        bool
	typ, machine     uint16
	flags            uint32
	phoff, shoff     uint64
	phentsize, phnum uint64
}

func (h *elfHeader) word() int {
	if h.wide {
		return 8
	}
	return 4
}

// headerSize is enough for an ELF header of either class, and for a section header.
const headerSize = 64

func readHeader(data []byte) (h elfHeader, ok bool) {
	if len(data) < 52 || string(data[:4]) != "\x7fELF" || data[4]-1 > 1 || data[5]-1 > 1 {
		return h, false
	}
	h.wide, h.big = data[4] == 2, data[5] == 2
	r := bin.NewAt(data, 16, h.big)
	h.typ, h.machine = r.U16(), r.U16()
	r.Skip(4 + uint64(h.word()))
	h.phoff, h.shoff = r.Uint(h.word()), r.Uint(h.word())
	h.flags = r.U32()
	r.Skip(2)
	h.phentsize, h.phnum = uint64(r.U16()), uint64(r.U16())
	least := uint64(32)
	if h.wide {
		least = 56
	}
	return h, r.Err() == nil && h.phentsize >= least
}

// segment is a program header.
type segment struct {
	typ                              uint32
	off, vaddr, paddr, filesz, memsz uint64
}

// table is the table of n program headers, as far as file has it.
func (h *elfHeader) table(file *input.Pages, n uint64) []byte {
	return file.Bytes(h.phoff, n*h.phentsize)
}

func (h *elfHeader) segment(table []byte, i uint64) (s segment) {
	r := bin.NewAt(table, i*h.phentsize, h.big)
	s.typ = r.U32()
	if h.wide {
		r.Skip(4)
	}
	w := h.word()
	s.off, s.vaddr, s.paddr, s.filesz, s.memsz = r.Uint(w), r.Uint(w), r.Uint(w), r.Uint(w), r.Uint(w)
	if r.Err() != nil {
		return segment{}
	}
	return s
}

// sniff tells a machine's dump from a program's core: the dump has notes of QEMU or of
// kdump, or physical addresses, which programs' cores leave 0, and no note about a program.
// /proc/kcore has such a note, and shows the kernel's half of the address space.
func sniff(head []byte) bool {
	if bytes.HasPrefix(head, []byte(kdumpMagic)) || bytes.HasPrefix(head, []byte(flatMagic)) {
		return true
	}
	h, ok := readHeader(head)
	if !ok || h.typ != etCore {
		return false
	}
	dump, program, kernel := false, false, h.wide
	for i := range min(h.phnum, uint64(len(head))/h.phentsize) {
		s := h.segment(part(head, h.phoff, uint64(len(head))), i)
		if s.typ == ptLoad {
			dump = dump || s.paddr != 0 && h.isPhysical(s.paddr)
			kernel = kernel && s.vaddr>>63 != 0
		}
		if s.typ != ptNote {
			continue
		}
		notes(part(head, s.off, s.filesz), h.big, func(n note) {
			dump = dump || n.name == "QEMU" || n.name == "VMCOREINFO"
			program = program || n.name == "CORE" && (n.typ == ntPRPSInfo || n.typ == ntAuxv)
		})
	}
	return dump && (!program || kernel)
}

// part is what data has of n bytes from off on.
func part(data []byte, off, n uint64) []byte {
	if off >= uint64(len(data)) {
		return nil
	}
	return data[off : off+min(n, uint64(len(data))-off)]
}

// maxSegments bounds the program headers: a machine has some hundred runs of memory, a
// dump without zero pages many thousands.
const maxSegments = 1 << 20

// readELF reads an ELF vmcore.
func readELF(ctx context.Context, name string, file *input.Pages, archs cpu.Set) (*dump, error) {
	h, ok := readHeader(file.Bytes(0, headerSize))
	d := &dump{name: name}
	if !ok {
		return nil, d.errorf("the ELF header is damaged")
	}
	if d.arch, ok = h.arch(archs); !ok {
		return nil, d.errorf("%s", h.unsupported())
	}
	n := h.phnum
	if n == pnXNum { // sh_info of section header 0
		r := bin.NewAt(file.Bytes(h.shoff, headerSize), 8+4*uint64(h.word())+4, h.big)
		n = uint64(r.U32())
	}
	var b target.Builder
	b.Until(ctx)
	n = min(n, maxSegments, file.Size()/h.phentsize)
	table := h.table(file, n)
	missing, shift := uint64(0), h.shift(file, table, n)
	for i := range n {
		s := h.segment(table, i)
		switch s.typ {
		case ptNote:
			d.notes = append(d.notes, noteSegment{file.Bytes(s.off, s.filesz+shift), h})
		case ptLoad:
			missing += s.filesz - file.Add(&b, s.paddr, s.off+shift, s.filesz, target.PermUnknown)
		}
	}
	if missing > 0 {
		d.issue(target.IssueCapture, "truncated: %d bytes of memory are missing", missing)
	}
	d.physical = b.Memory(&cpu.Arch{AddrSize: 8, BigEndian: h.big})
	return d, nil
}

// arch is the processor. QEMU writes the wide form for i386 too, where the machine's memory, that of
// its video card counted, reaches beyond 4 GB (cpu_get_dump_info).
func (h *elfHeader) arch(archs cpu.Set) (*cpu.Arch, bool) {
	a, ok := archs.ByELF(h.machine, uint8(h.word()/4), h.big, h.flags, 0)
	if !ok && h.wide {
		a, ok = archs.ByELF(h.machine, 1, h.big, h.flags, 0)
	}
	return a, ok
}

// unsupported says that nothing is known of the processor.
func (h *elfHeader) unsupported() string {
	return fmt.Sprintf("a dump of an unsupported processor: e_machine %d, %d-bit, big-endian %t", h.machine, 8*h.word(), h.big)
}
