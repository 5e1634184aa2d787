package macho

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// segment is an LC_SEGMENT.
type segment struct {
	name         string
	addr, size   uint64
	file         extent
	prot         uint32
	first, count int // of its sections, in file.sections
}

// section is a section of a segment.
type section struct {
	name, segment string
	addr, size    uint64
	off           uint64
	flags         uint32
	// index and stub are reserved1 and reserved2: where in the indirect symbol table the
	// section's pointers or stubs begin, and how long a stub is.
	index, stub uint32
}

func (s *section) kind() uint32 { return s.flags & sectionType }

// code tells whether a section has instructions.
func (s *section) code() bool {
	return s.flags&(attrSomeInstruction|attrPureInstruction) != 0 && s.size != 0 && !s.zeroFilled()
}

func (s *section) zeroFilled() bool {
	switch s.kind() {
	case sZeroFill, sGBZeroFill, sThreadLocalZero:
		return true
	}
	return false
}

// pointers tells whether a section has pointers that the dynamic linker fills in.
func (s *section) pointers() bool {
	switch s.kind() {
	case sNonLazyPointers, sLazyPointers, sLazyDylibPointers:
		return true
	}
	return false
}

// name16 is a name of up to 16 bytes, which ends at a NUL if shorter.
func name16(r *bin.Reader) string {
	b := r.Bytes(16)
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// segment reads LC_SEGMENT or LC_SEGMENT_64 with its sections.
func (f *file) segment(r bin.Reader, wide bool) {
	word := func() uint64 {
		if wide {
			return r.U64()
		}
		return uint64(r.U32())
	}
	s := segment{name: name16(&r), addr: word(), size: word(), file: extent{word(), word()}, first: len(f.sections)}
	r.Skip(4) // maxprot
	s.prot = r.U32()
	count := r.U32()
	r.Skip(4) // flags
	if r.Err() != nil || len(f.segments) == maxSegments {
		return
	}
	for range count {
		x := section{name: name16(&r), segment: name16(&r), addr: word(), size: word(), off: uint64(r.U32())}
		r.Skip(12) // align, reloff, nreloc
		x.flags, x.index, x.stub = r.U32(), r.U32(), r.U32()
		if wide {
			r.Skip(4)
		}
		if r.Err() != nil || len(f.sections) == maxSections {
			break
		}
		f.sections = append(f.sections, x)
	}
	s.count = len(f.sections) - s.first
	f.segments = append(f.segments, s)
}

// segmentNamed finds a segment.
func (f *file) segmentNamed(name string) (*segment, bool) {
	i := slices.IndexFunc(f.segments, func(s segment) bool { return s.name == name })
	if i < 0 {
		return nil, false
	}
	return &f.segments[i], true
}

// textAddr is the address of the mach header, to which offsets in LC_MAIN, in function starts,
// exports and unwind tables are relative.
func (f *file) textAddr() uint64 {
	if s, ok := f.segmentNamed("__TEXT"); ok {
		return s.addr
	}
	for i := range f.segments {
		s := &f.segments[i]
		if s.file.size != 0 && s.file.off == f.head {
			return s.addr
		}
	}
	return 0
}

// bytesOf is what the file holds of a segment. What is encrypted, and what follows that, is
// nothing.
func (f *file) bytesOf(s *segment) []byte {
	if f.place != nil {
		if s.prot&protWrite != 0 {
			return nil
		}
		return f.place(s.addr, s.size)
	}
	b := f.slice(extent{s.file.off, min(s.file.size, s.size)})
	if x := f.encrypted; x.size != 0 && x.off < s.file.off+s.file.size && s.file.off < x.off+x.size {
		b = b[:bin.Limit(x.off-min(s.file.off, x.off), len(b))]
	}
	return b
}

// loaded are the segments of the Image. __PAGEZERO, which nobody may touch, is none; an
// executable one is cut into what has instructions and what has not.
func (f *file) loaded() (segs []image.Segment) {
	for i := range f.segments {
		s := &f.segments[i]
		if s.prot == 0 && s.file.size == 0 || s.size == 0 || s.addr+s.size < s.addr {
			continue
		}
		whole := image.Segment{Addr: s.addr, Size: s.size, Data: f.bytesOf(s), FileOff: f.start + s.file.off,
			Read: s.prot&protRead != 0, Write: s.prot&protWrite != 0, Exec: s.prot&protExec != 0}
		segs = append(segs, f.pieces(whole, f.sections[s.first:s.first+s.count])...)
	}
	return segs
}

// pieces cuts an executable segment at the edges of its runs of sections with instructions.
func (f *file) pieces(whole image.Segment, sections []section) []image.Segment {
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

// dropAliases takes the bytes from segments that show the same part of the file again and
// again, so that the bytes of an image are in proportion to its file's.
func (f *file) dropAliases(segs []image.Segment) (issues []string) {
	if f.place != nil {
		return nil // by their addresses, segments share nothing
	}
	loaded := budget.New("bytes loaded from the file", 0, aliases*uint64(len(f.data)))
	for i := range segs {
		if loaded.Draw(len(segs[i].Data)) {
			continue
		}
		if issues == nil {
			issues = append(issues, fmt.Sprintf("%s: segment at %#x: %v; it and those behind it are not used", f.path, segs[i].Addr, loaded.Err()))
		}
		segs[i].Data = nil
	}
	return issues
}
