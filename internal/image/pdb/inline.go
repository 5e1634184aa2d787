package pdb

import (
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// maxInlines bounds the calls that were inlined into one another at one place.
const maxInlines = 64

// site is a call that was inlined: of which function, and the line there of the address that was asked for.
type site struct {
	id      uint32
	line    int32  // counted from the function's first
	file    uint32 // place of another file's entry, 0 for the function's own
	covered bool
}

// sitesAt are the inlined calls around an offset in a procedure, outermost first. Sites nest as their records do. A compiler may
// leave the code of an inner call out of the outer site, whose line is not known then.
func (m *module) sitesAt(p *procedure, offset uint32) (around []site) {
	var open []site
	records(m.data, p.at, min(p.end, uint32(len(m.data))), func(s record) bool {
		switch s.kind {
		case symInlineSite, symInlineSite2:
			in := siteOf(s, offset)
			if open = append(open, in); in.covered && extends(open, around) {
				around = slices.Clone(open)
			}
		case symInlineSiteEnd:
			open = open[:max(len(open), 1)-1]
		}
		return len(open) < maxInlines
	})
	return around
}

// extends tells whether a list of sites begins with another.
func extends(sites, begin []site) bool {
	return len(sites) > len(begin) && slices.Equal(sites[:len(begin)], begin)
}

// siteOf reads the record of a site.
func siteOf(s record, offset uint32) (in site) {
	s.Skip(8) // parent, end
	in.id = s.U32()
	if s.kind == symInlineSite2 {
		s.Skip(4) // how often the call runs
	}
	in.find(s.Reader, offset)
	return in
}

// Operations of annotations (cvinfo.h, BinaryAnnotationOpcode).
const (
	opEnd = iota
	opCodeOffset
	opCodeOffsetBase
	opChangeCodeOffset
	opCodeLength
	opFile
	opLineOffset
	opLineEndDelta
	opRangeKind
	opColumnStart
	opColumnEndDelta
	opCodeAndLineOffset
	opLengthAndCodeOffset
	opColumnEnd
)

// rows is the state of the annotations of a site: the row that has begun, and where in the code the next begins.
type rows struct {
	row    site
	begun  uint32
	open   bool
	offset uint32
	line   int32
	file   uint32
}

// find runs a site's annotations up to the row that covers an offset in the procedure. A row ends where the next begins, or after
// the length that follows its beginning. LLVM's next row counts from that end (opCodeLength), Microsoft's compilers' from the
// beginning of the row before (opLengthAndCodeOffset).
func (in *site) find(r bin.Reader, offset uint32) {
	s := rows{row: *in}
	for r.Len() > 0 && !in.covered {
		switch op := number(&r); op {
		case opCodeOffset:
			s.offset = number(&r)
		case opChangeCodeOffset:
			s.begin(in, number(&r), offset)
		case opCodeLength:
			s.end(in, number(&r), offset)
		case opFile:
			s.file = number(&r)
		case opLineOffset:
			s.line += signed(number(&r))
		case opCodeAndLineOffset:
			both := number(&r) // four bits of code, the line above
			s.line += signed(both >> 4)
			s.begin(in, both&15, offset)
		case opLengthAndCodeOffset:
			length := number(&r)
			s.begin(in, number(&r), offset)
			s.end(in, length, offset)
			s.offset = s.begun
		case opLineEndDelta, opRangeKind, opColumnStart, opColumnEndDelta, opColumnEnd:
			number(&r)
		default: // the end, padding, and code in another section (opCodeOffsetBase)
			return
		}
	}
}

// begin starts a row so many bytes further on, which ends the row before.
func (s *rows) begin(in *site, delta, offset uint32) {
	if s.open {
		s.end(in, delta, offset)
	} else {
		s.offset += delta
	}
	s.begun, s.open = s.offset, true
	s.row.line, s.row.file = s.line, s.file
}

// end ends a row, and tells the site where the row covers the offset.
func (s *rows) end(in *site, length, offset uint32) {
	s.offset += length
	if s.open && s.begun <= offset && offset < s.offset && !in.covered {
		*in = s.row
		in.covered = true
	}
	s.open = false
}

// number reads an unsigned number of one, two or four bytes; the first bits tell how many.
func number(r *bin.Reader) uint32 {
	b := uint32(r.U8())
	switch {
	case b&0x80 == 0:
		return b
	case b&0xc0 == 0x80:
		return b&0x3f<<8 | uint32(r.U8())
	case b&0xe0 == 0xc0:
		high := b&0x1f<<8 | uint32(r.U8())
		return high<<16 | uint32(r.U8())<<8 | uint32(r.U8())
	}
	r.Skip(uint64(r.Len())) // no number begins so
	return opEnd
}

// signed is a number whose lowest bit is the sign.
func signed(n uint32) int32 {
	if n&1 != 0 {
		return -int32(n >> 1)
	}
	return int32(n >> 1)
}

// inlined are the calls around an address as the source has them, innermost first.
func (f *file) inlined(m *module, p *procedure, rva uint32) (calls []image.InlinedCall) {
	for _, in := range m.sitesAt(p, rva-p.rva) {
		call := image.InlinedCall{Function: f.types.function(f.streams, in.id)}
		if line, file, ok := m.inlineeLine(in.id); ok && in.covered {
			if in.file != 0 {
				file = in.file
			}
			call.SourcePlace = image.SourcePlace{File: f.fileName(m, file), Line: int(int64(line) + int64(in.line))}
		}
		calls = append(calls, call)
	}
	slices.Reverse(calls)
	return calls
}
