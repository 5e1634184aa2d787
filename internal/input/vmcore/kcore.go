package vmcore

import (
	"io"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// /proc/kcore is the memory of the machine that reads it, as an ELF core: a segment for each run of
// memory as the kernel's linear mapping shows that, one for the kernel itself, and some of many
// terabytes for what is mapped piece by piece (fs/proc/kcore.c). The first two have physical
// addresses since Linux 4.12, the others none; VMCOREINFO is among the notes since 4.19.
//
// The file claims as many bytes as there are addresses and cannot be mapped: only headers, notes
// and the pages that are asked for are read.
const (
	maxKcoreHead  = 256 << 10 // program headers: one for each run of memory
	maxKcoreNotes = 1 << 20   // the registers of nobody, a task_struct, VMCOREINFO
)

// readKcore reads what /proc/kcore says of the machine.
func readKcore(name string, file io.ReaderAt, archs cpu.Set) (*dump, error) {
	d := &dump{name: name}
	head := atMost(file, 0, maxKcoreHead)
	h, ok := readHeader(head)
	if !ok {
		return nil, d.errorf("the ELF header is damaged")
	}
	if d.arch, ok = archs.ByELF(h.machine, uint8(h.word()/4), h.big, h.flags, 0); !ok {
		return nil, d.errorf("%s", h.unsupported())
	}
	var b target.Builder
	for i := range min(h.phnum, uint64(len(head))/h.phentsize) {
		switch s := h.segment(part(head, h.phoff, uint64(len(head))), i); {
		case s.typ == ptNote:
			d.notes = append(d.notes, noteSegment{atMost(file, s.off, min(s.filesz, maxKcoreNotes)), h})
		case s.typ == ptLoad && h.isPhysical(s.paddr):
			b.AddPaged(s.paddr, s.filesz, fileAt{file, s.off - s.paddr}, target.PermUnknown)
			d.shown = append(d.shown, s)
		}
	}
	d.physical = b.Memory(&cpu.Arch{AddrSize: 8, BigEndian: h.big})
	return d, nil
}

// isPhysical tells whether a segment states a physical address: where it has none, all bits are
// set.
func (h *elfHeader) isPhysical(paddr uint64) bool { return paddr != ^uint64(0)>>(64-8*h.word()) }

// atMost are n bytes of a file from an offset on, fewer where they cannot be read.
func atMost(file io.ReaderAt, off, n uint64) []byte {
	b := make([]byte, n)
	got, _ := file.ReadAt(b, int64(off))
	return b[:max(got, 0)]
}

// fileAt is memory that lies in a file.
type fileAt struct {
	file  io.ReaderAt
	delta uint64 // from the address to the file's offset
}

// ReadPage implements target.Pager.
func (f fileAt) ReadPage(addr uint64, page []byte) (int, error) {
	return f.file.ReadAt(page, int64(addr+f.delta))
}

// shownAt is the physical address of a virtual one, as the program headers tell.
func (d *dump) shownAt(virtual uint64) (physical uint64, ok bool) {
	for i := range d.shown {
		if s := &d.shown[i]; virtual-s.vaddr < s.memsz {
			return virtual - s.vaddr + s.paddr, true
		}
	}
	return 0, false
}
