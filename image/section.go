package image

import (
	"cmp"
	"slices"
)

// Section is a named range. Data is decompressed where the file compresses it.
type Section struct {
	Name string
	// Addr is 0 for sections that are not loaded.
	Addr uint64
	Data []byte
	// NoEnd: the file does not say where the section ends. Data then has all that may
	// belong to it.
	NoEnd bool
}

// Sections are the named ranges of an image, those of its debug file among them.
type Sections struct {
	container Container
	read      memos // name → *Section
}

// Named returns a section by name, read once and kept.
func (ss *Sections) Named(name string) (Section, bool) {
	s := ss.read.get(name, func() any {
		if ss.container == nil {
			return (*Section)(nil)
		}
		if s, ok := ss.container.Section(name); ok {
			return &s
		}
		return (*Section)(nil)
	}).(*Section)
	if s == nil {
		return Section{}, false
	}
	return *s, true
}

// loader is a Container that tells the file itself from its debug file.
type loader interface {
	// Loaded returns a section of the file itself.
	Loaded(name string) (Section, bool)
}

// Loaded is Named for a section that the program is loaded with: no debug file is looked for,
// which may be far away.
func (ss *Sections) Loaded(name string) (Section, bool) {
	if l, ok := ContainerAs[loader](ss.container); ok {
		return l.Loaded(name)
	}
	return ss.Named(name)
}

// parter is a Container that decompresses sections bit by bit.
type parter interface {
	SectionPart(name string, off, n uint64) []byte
	// SectionSize is the section's size, or what it claims to decompress to, which
	// the size of its stream makes credible.
	SectionSize(name string) uint64
}

// Size is the size of a section in bytes, decompressed; 0 where there is none.
// It reads nothing of the section.
func (ss *Sections) Size(name string) uint64 {
	if p, ok := ContainerAs[parter](ss.container); ok {
		return p.SectionSize(name)
	}
	s, _ := ss.Named(name)
	return uint64(len(s.Data))
}

// Part returns n bytes of a section from off on, fewer only where it ends.
// What lies behind is not read, and what lies before not kept: of a compressed
// section the parts are best asked for in order.
func (ss *Sections) Part(name string, off, n uint64) []byte {
	if p, ok := ContainerAs[parter](ss.container); ok {
		return p.SectionPart(name, off, n)
	}
	s, _ := ss.Named(name)
	return s.Part(off, n)
}

// Part returns n bytes from off on, fewer where the section ends.
func (s *Section) Part(off, n uint64) []byte {
	size := uint64(len(s.Data))
	off = min(off, size)
	return s.Data[off : off+min(n, size-off)]
}

// outlined is a Container whose file says which of its sections are code.
type outlined interface{ CodeSections() []Range }

// Code are the ranges of code that the image has bytes of, in order, in image addresses: as the file's sections tell or, where there
// are none, its segments. The read-only data of a statically linked program may lie in the same segment. Of a processor whose
// code is not decoded there are none.
func (img *Image) Code() (ranges []Range) {
	if img.Arch.Decoder == nil {
		return nil
	}
	if o, is := ContainerAs[outlined](img.container); is {
		for _, s := range o.CodeSections() {
			if code := img.Segments.Code(s.Addr); len(code) > 0 {
				ranges = append(ranges, Range{Addr: s.Addr, Size: min(s.Size, uint64(len(code)))})
			}
		}
	}
	if len(ranges) > 0 {
		slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.Addr, b.Addr) })
		return ranges
	}
	for i := range img.Segments {
		if s := &img.Segments[i]; s.Exec {
			ranges = append(ranges, Range{Addr: s.Addr, Size: uint64(len(s.Data))})
		}
	}
	return ranges
}
