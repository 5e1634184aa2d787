package pdb

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Kinds of subsections of a module's lines (cvinfo.h, DEBUG_S_SUBSECTION_TYPE).
const (
	subsectionLines       = 0xf2
	subsectionFiles       = 0xf4
	subsectionInlineLines = 0xf6
)

// subsections calls yield for what a module has of a kind, until yield returns false.
func (m *module) subsections(kind uint32, yield func(bin.Reader) bool) {
	for r := bin.New(m.c13, false); r.Len() >= 8; r.Align(4) {
		k, data := r.U32(), r.Bytes(uint64(r.U32()))
		if r.Err() != nil || k == kind && !yield(bin.New(data, false)) {
			return
		}
	}
}

// fileName is the name of the file whose entry is at a place among a module's files.
func (f *file) fileName(m *module, at uint32) (name string) {
	m.subsections(subsectionFiles, func(r bin.Reader) bool {
		r.Seek(uint64(at))
		if offset := r.U32(); r.Err() == nil {
			name = text(f.names, uint64(offset))
		}
		return false
	})
	return name
}

// lineAt is the place of an address by the lines of its function.
func (f *file) lineAt(m *module, rva uint32) (place image.SourcePlace, ok bool) {
	m.subsections(subsectionLines, func(r bin.Reader) bool {
		offset, number := r.U32(), r.U16()
		r.Skip(2) // whether there are columns, too
		size := r.U32()
		if first, known := f.rva(number, offset); known && rva-first < size {
			place, ok = f.placeIn(m, r, rva-first)
		}
		return !ok
	})
	return place, ok
}

// placeIn finds the last line at an offset or before. Each block of lines is of one file; columns follow the lines.
func (f *file) placeIn(m *module, r bin.Reader, offset uint32) (place image.SourcePlace, ok bool) {
	const head, line = 12, 8
	best, in := uint32(0), uint32(0)
	for r.Err() == nil && r.Len() >= head {
		name, count, size := r.U32(), r.U32(), r.U32()
		body := bin.New(r.Bytes(uint64(max(size, head)-head)), false)
		for range min(uint64(count), uint64(body.Len()/line)) {
			if at, bits := body.U32(), body.U32(); at <= offset && (!ok || at >= best) {
				best, in, ok = at, name, true
				place.Line = lineNumber(bits)
			}
		}
	}
	if ok {
		place.File = f.fileName(m, in)
	}
	return place, ok
}

// lineNumber is a line out of an entry's bits; 0 for the two numbers that stand for no line of the source (debuggers step over, or into).
func lineNumber(bits uint32) int {
	const mask, stepOver, stepInto = 0xff_ffff, 0xf0_0f00, 0xfe_efee
	if n := bits & mask; n != stepOver && n != stepInto {
		return int(n)
	}
	return 0
}

// inlineeLine is where an inlined function begins in the source: a line, and the place of the file's entry.
func (m *module) inlineeLine(id uint32) (line, file uint32, ok bool) {
	m.subsections(subsectionInlineLines, func(r bin.Reader) bool {
		more := r.U32() == 1 // further files follow each entry
		for r.Err() == nil && r.Len() >= 12 && !ok {
			who, where, at := r.U32(), r.U32(), r.U32()
			if more {
				r.Skip(4 * uint64(r.U32()))
			}
			if who == id {
				line, file, ok = at, where, true
			}
		}
		return !ok
	})
	return line, file, ok
}
