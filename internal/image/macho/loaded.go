package macho

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// loaded are the segments of the Image. __PAGEZERO, which nobody may touch, is none; an
// executable one is cut into what has instructions and what has not. A dSYM's __DWARF lies at
// addresses that other images may have.
func (f *file) loaded() (segs []image.Segment) {
	for i := range f.segments {
		s := &f.segments[i]
		if s.prot == 0 && s.file.size == 0 || s.size == 0 || s.addr+s.size < s.addr || f.typ == mhDsym && s.name == "__DWARF" {
			continue
		}
		whole := image.Segment{Addr: s.addr, Size: s.size, Data: f.bytesOf(s), FileOff: f.start + s.file.off,
			Read: s.prot&protRead != 0, Write: s.prot&protWrite != 0, Exec: s.prot&protExec != 0}
		segs = append(segs, pieces(whole, f.sections[s.first:s.first+s.count])...)
	}
	return segs
}

// pieces cuts an executable segment at the edges of its runs of sections with instructions.
func pieces(whole image.Segment, sections []section) []image.Segment {
	sections = slices.Clone(sections)
	slices.SortStableFunc(sections, func(a, b section) int { return cmp.Compare(a.addr, b.addr) })
	if !whole.Exec || !slices.ContainsFunc(sections, func(s section) bool { return s.code() }) {
		return []image.Segment{whole}
	}
	var out []image.Segment
	at, end := whole.Addr, whole.Addr+whole.Size
	exec := false
	cut := func(to uint64, next bool) {
		if to = min(to, end); exec != next && to >= at {
			out = append(out, piece(&whole, at, to, exec))
			at, exec = to, next
		}
	}
	last := at // where the latest section with instructions ends
	for i := range sections {
		switch s := &sections[i]; {
		case s.size == 0 || s.addr < at || s.addr+s.size < s.addr:
		case s.code():
			cut(s.addr, true)
			last = s.addr + s.size
		default:
			cut(last, false)
		}
	}
	cut(last, false)
	return append(out, piece(&whole, at, end, false))
}

// piece is the part lo ≤ address < hi of a segment.
func piece(s *image.Segment, lo, hi uint64, exec bool) image.Segment {
	p := *s
	skip := lo - s.Addr
	p.Addr, p.Size, p.FileOff, p.Exec = lo, hi-lo, s.FileOff+skip, exec
	p.Data = s.Data[bin.Limit(skip, len(s.Data)):]
	p.Data = p.Data[:bin.Limit(p.Size, len(p.Data))]
	return p
}

// aliases is how often a byte of the file may be loaded on average: segments of linked files
// share nothing.
const aliases = 2

// dropAliases takes the bytes from segments that show the same part of a file of size bytes again
// and again, so that the bytes of an image are in proportion to its file's.
func dropAliases(path string, size int, segs []image.Segment) (issues []string) {
	loaded := budget.New("bytes loaded from the file", 0, aliases*uint64(size))
	for i := range segs {
		if loaded.Draw(len(segs[i].Data)) {
			continue
		}
		if issues == nil {
			issues = append(issues, fmt.Sprintf("%s: segment at %#x: %v; it and those behind it are not used", path, segs[i].Addr, loaded.Err()))
		}
		segs[i].Data = nil
	}
	return issues
}
