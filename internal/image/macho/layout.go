package macho

import (
	"bytes"
	"slices"

	"github.com/backsight/backsight/internal/bin"
)

// layout is where segments and sections lie.
type layout struct {
	head     uint64 // offset of the mach header in the file: not 0 in a shared cache
	segments []segment
	sections []section
}

// maxSegments and maxSections bound what is kept of load commands. A symbol names its section
// by a byte; linked files have some thirty.
const maxSegments, maxSections = 256, 1024

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
	// relocs are the relocations of an object file's section.
	relocs extent
}

const relocSize = 8

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
	name, _, _ := bytes.Cut(r.Bytes(16), []byte{0})
	return string(name)
}

// addSegment reads LC_SEGMENT or LC_SEGMENT_64 with its sections.
func (l *layout) addSegment(r bin.Reader, wide bool) {
	word := func() uint64 {
		if wide {
			return r.U64()
		}
		return uint64(r.U32())
	}
	s := segment{name: name16(&r), addr: word(), size: word(), file: extent{word(), word()}, first: len(l.sections)}
	r.Skip(4) // maxprot
	s.prot = r.U32()
	count := r.U32()
	r.Skip(4) // flags
	if r.Err() != nil || len(l.segments) == maxSegments {
		return
	}
	for range count {
		x := section{name: name16(&r), segment: name16(&r), addr: word(), size: word(), off: uint64(r.U32())}
		r.Skip(4) // align
		off, count := uint64(r.U32()), uint64(r.U32())
		x.relocs = extent{off, relocSize * count}
		x.flags, x.index, x.stub = r.U32(), r.U32(), r.U32()
		if wide {
			r.Skip(4)
		}
		if r.Err() != nil || len(l.sections) == maxSections {
			break
		}
		l.sections = append(l.sections, x)
	}
	s.count = len(l.sections) - s.first
	l.segments = append(l.segments, s)
}

// segmentNamed finds a segment.
func (l *layout) segmentNamed(name string) (*segment, bool) {
	i := slices.IndexFunc(l.segments, func(s segment) bool { return s.name == name })
	if i < 0 {
		return nil, false
	}
	return &l.segments[i], true
}

// textAddr is the address of the mach header, to which offsets in LC_MAIN, in function starts,
// exports and unwind tables are relative.
func (l *layout) textAddr() uint64 {
	if s, ok := l.segmentNamed("__TEXT"); ok {
		return s.addr
	}
	for i := range l.segments {
		s := &l.segments[i]
		if s.file.size != 0 && s.file.off == l.head {
			return s.addr
		}
	}
	return 0
}

// inSegment is the address of an offset in the i-th segment.
func (l *layout) inSegment(i, off uint64) uint64 {
	if i >= uint64(len(l.segments)) {
		return 0
	}
	return l.segments[i].addr + off
}

// sectionNamed finds a section that has bytes by its name. Where several segments have such a section,
// __TEXT's is taken.
func (l *layout) sectionNamed(name string) (best *section, ok bool) {
	for i := range l.sections {
		if s := &l.sections[i]; s.name == name && s.size != 0 && (best == nil || s.segment == "__TEXT" && best.segment != "__TEXT") {
			best = s
		}
	}
	return best, best != nil
}

// sectionAt is the section that holds an address.
func (l *layout) sectionAt(addr uint64) (*section, bool) {
	for i := range l.sections {
		if s := &l.sections[i]; addr-s.addr < s.size {
			return s, true
		}
	}
	return nil, false
}

// code tells whether the section of a number, as symbols count them from 1, has instructions.
func (l *layout) code(number uint8) bool {
	return number > 0 && int(number) <= len(l.sections) && l.sections[number-1].code()
}
