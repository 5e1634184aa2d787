package vmcore

import (
	"bytes"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/vmcoreinfo"
)

// note is a record of a note segment (gABI ch. 5, "Note Section").
type note struct {
	name string
	typ  uint32
	desc []byte
}

// nextNote reads a note. ok is false where none is whole.
func nextNote(r *bin.Reader) (n note, ok bool) {
	nameSize, descSize, typ := r.U32(), r.U32(), r.U32()
	name := r.Bytes(uint64(nameSize))
	r.Skip(uint64(-nameSize & 3))
	desc := r.Bytes(uint64(descSize))
	if r.Err() != nil {
		return n, false
	}
	r.Skip(min(uint64(-descSize&3), uint64(r.Len())))
	return note{string(bytes.TrimRight(name, "\x00")), typ, desc}, true
}

// notes calls visit for each note.
func notes(data []byte, big bool, visit func(note)) {
	r := bin.New(data, big)
	for {
		n, ok := nextNote(&r)
		if !ok {
			return
		}
		visit(n)
	}
}

// maxNotesOver bounds how far notes reach behind their segment: those of a thousand processors, 4 KB each.
const maxNotesOver = 4 << 20

// shift is by how much what follows the notes lies further on than the program headers say.
//
// QEMU up to 7.2 at least sizes the notes of all processors by those of the first; the note about
// the vector registers of AArch64 (SVE) is as long as the vectors that a processor uses. Example:
// two processors, one of which used 256 bytes a register: the notes end 1632 bytes behind the end of
// their segment, and so do the bytes of all memory.
func (h *elfHeader) shift(file *input.Pages, table []byte, segments uint64) uint64 {
	var last segment // of notes
	end, size := uint64(0), file.Size()
	for i := range segments {
		switch s := h.segment(table, i); {
		case s.off > size || s.filesz > size-s.off:
			return 0
		case s.typ == ptNote:
			last = s
		case s.typ == ptLoad:
			end = max(end, s.off+s.filesz)
		}
	}
	over := notesEnd(file.Bytes(last.off, last.filesz+maxNotesOver), last.filesz, h.big) - last.filesz
	if over > size-end {
		return 0
	}
	return over
}

// notesEnd is where the notes at the beginning of data end, whose segment is said to have n bytes. A
// processor's note may reach beyond, and those of more processors follow.
func notesEnd(data []byte, n uint64, big bool) uint64 {
	r := bin.New(data, big)
	for at := uint64(0); ; at = uint64(r.Offset()) {
		next, ok := nextNote(&r)
		ofProcessor := next.name == "CORE" || next.name == "LINUX" || next.name == "QEMU"
		if !ok || uint64(r.Offset()) > n && !ofProcessor {
			return max(at, n)
		}
	}
}

// noteSegment is bytes with notes.
type noteSegment struct {
	data   []byte
	header elfHeader
}

// infoNote is VMCOREINFO out of the notes.
func (d *dump) infoNote() (info vmcoreinfo.Info) {
	for _, s := range d.notes {
		notes(s.data, s.header.big, func(n note) {
			if n.name == "VMCOREINFO" && info == nil {
				info = vmcoreinfo.Parse(n.desc)
			}
		})
	}
	return info
}

// takeProcessors takes the registers of processors out of the notes (NT_PRSTATUS, one for each).
func (d *dump) takeProcessors() {
	layout := d.arch.Layouts[cpu.LinuxPrstatus]
	before := 72 // pr_reg in struct elf_prstatus, whatever the form of the header
	if d.arch.AddrSize == 8 {
		before = 112
	}
	for _, s := range d.notes {
		notes(s.data, s.header.big, func(n note) {
			if n.name == "CORE" && n.typ == ntPRStatus && len(n.desc) >= before+layout.Size && layout.Size > 0 && len(d.cpus) < maxCPUs {
				d.cpus = append(d.cpus, d.arch.Read(layout, n.desc[before:]))
			}
		})
	}
	d.count = len(d.cpus)
}

// maxCPUs is the largest CONFIG_NR_CPUS.
const maxCPUs = 8192
