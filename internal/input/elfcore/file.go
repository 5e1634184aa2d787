package elfcore

import (
	"fmt"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// file is a core file.
type file struct {
	name   string
	pages  input.Pages
	header header
	// needed, unless nil, collects what of memory tells which binaries are mapped where.
	needed *[]target.Range
}

// need notes that n bytes of memory were read to find a binary.
func (f *file) need(addr, n uint64) {
	if f.needed != nil {
		*f.needed = append(*f.needed, target.RangeOf(addr, n))
	}
}

func (f *file) errorf(off uint64, format string, args ...any) error {
	return &input.Error{Path: f.name, Offset: int64(off), Reason: fmt.Sprintf(format, args...)}
}

// count is e_phnum, or sh_info of section header 0 where there are too many
// mappings for 16 bits (gABI ch. 4, PN_XNUM).
func (f *file) count() uint64 {
	h := &f.header
	if h.phnum != pnXNum {
		return h.phnum
	}
	r := bin.New(f.pages.Bytes(h.shoff, headerSize), h.big)
	r.Skip(8 + 4*uint64(h.word()) + 4) // sh_name to sh_link
	if n := r.U32(); r.Err() == nil {
		return uint64(n)
	}
	return h.phnum
}

// segments are the program headers that a core has: PT_LOAD and PT_NOTE.
type segments struct{ loads, notes []phdr }

// Linux allows 65,530 mappings (vm.max_map_count), databases ask for a few hundred
// thousand. One that was written to has a page at least in the core.
const loadsFloor, bytesPerLoad = 1 << 18, 1 << 12

// segments reads the program headers. Headers that the file's end cuts off are a
// problem, and so are mappings.
func (f *file) segments(found *problems) (s segments, err error) {
	h := &f.header
	if h.phentsize < h.phdrSize() {
		return s, f.errorf(h.phoff, "program headers of %d bytes are too small", h.phentsize)
	}
	size, n := f.pages.Size(), f.count()
	if h.phoff >= size {
		return s, f.errorf(h.phoff, "the file ends before its program headers, after %#x bytes", size)
	}
	if room := (size - h.phoff) / h.phentsize; n > room {
		found.capture(f.name, "%s: offset %#x: of %d program headers the file holds %d", f.name, h.phoff, n, room)
		n = room
	}
	needed, mappings := uint64(0), budget.New("mappings", loadsFloor, size/bytesPerLoad)
	s.loads = make([]phdr, 0, min(n, uint64(mappings.Left())))
	table := f.pages.Bytes(h.phoff, n*h.phentsize)
	for i := range min(n, uint64(len(table))/h.phentsize) {
		p := h.readPhdr(table[i*h.phentsize:])
		switch p.typ {
		case ptNote:
			s.notes = append(s.notes, p) // as many as the file has program headers
		case ptLoad:
			if mappings.Draw(1) {
				s.loads = append(s.loads, p)
			}
		default:
			continue
		}
		if end := p.off + p.filesz; end >= p.off {
			needed = max(needed, end)
		}
	}
	if err := mappings.Err(); err != nil {
		found.capture(f.name, "%s: %v; the others are left out", f.name, err)
	}
	if needed > size {
		found.capture(f.name, "%s: truncated: %#x bytes of %#x are there", f.name, size, needed)
	}
	return s, nil
}
