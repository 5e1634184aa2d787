package pclntab

import (
	"iter"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Place is where an instruction stands in the source of a function.
type Place struct {
	Function, File string
	Line           int
}

// maxInlined bounds how deep calls are inlined.
const maxInlined = 64

// Places are where the instruction at pc stands: in functions that were inlined, the innermost first, at last in the function itself.
// None where the table does not tell.
func Places(img *image.Image, pc uint64) (list []Place) {
	t := Of(img)
	f, ok := t.At(pc)
	if !ok {
		return nil
	}
	for range maxInlined {
		file, line, ok := f.source(pc)
		call, inlined := f.inlined(pc)
		switch {
		case !ok:
			return nil
		case !inlined:
			return append(list, Place{f.Name(), file, line})
		}
		name, parent, ok := t.call(calls(img, t), call)
		if !ok || parent >= f.Hi-f.Lo {
			return nil
		}
		list = append(list, Place{name, file, line})
		pc = f.Lo + parent
	}
	return nil
}

// call is an inlined call, of a list of them: the function's name, and where the function that it was inlined into stands.
//
//	Go 1.18   parent, 16 bits; kind, 8 bits, 0; file, line, name, position
//	Go 1.20   kind, 8 bits, 0, 0, 0; name, position, first line
func (t *Table) call(list []byte, at uint64) (name string, parent uint64, ok bool) {
	size, nameAt := uint64(20), uint64(12)
	if t.late {
		size, nameAt = 16, 4
	}
	entry := at & (1<<32 - 1)
	off := at>>32 + entry*size
	if off > uint64(len(list)) || uint64(len(list))-off < size {
		return "", 0, false
	}
	r := bin.NewAt(list, off+nameAt, bool(t.order))
	n := uint64(r.U32())
	if n == 0 || n >= uint64(len(t.names)) || t.names[n-1] != 0 { // a name begins behind another's end
		return "", 0, false
	}
	name = text(t.names, uint32(n))
	return name, uint64(r.U32()), name != ""
}

// Tables of a function beside those that change along its code: so many 32-bit numbers, each the place of data from go:func.* on.
const (
	callTree  = 3 // FUNCDATA_InlTree
	noData    = 1<<32 - 1
	maxTables = 64
)

// inlined is the inlined call that the instruction at pc belongs to: the place of the function's list, in the upper half, and the number in it.
func (f *Function) inlined(pc uint64) (call uint64, ok bool) {
	tree := f.tree()
	if tree == noData {
		return 0, false
	}
	n, ok := f.value(f.u32(f.table.fixed()+inlining*4), pc) // of table 0 there is no value
	return uint64(tree)<<32 | uint64(max(n, 0)), ok && n >= 0
}

// calls are the data of functions, from go:func.* on; nil where they are not found. runtime.moduledata has the address: where it is in there
// differs from version to version, so that each of its words is tried, or of a file that is loaded anywhere each address in data.
func calls(img *image.Image, t *Table) []byte {
	type key struct{}
	return img.Memo(key{}, func() any {
		var some []Function
		for i := 0; i < t.count && len(some) < 16; i++ {
			if f, ok := t.function(i); ok && f.tree() != noData {
				some = append(some, f)
			}
		}
		for addr := range t.addresses(img) {
			if s, ok := img.Segments.At(addr); ok && !s.Write && addr-s.Addr < uint64(len(s.Data)) {
				if data := s.Data[addr-s.Addr:]; len(some) > 0 && t.haveCalls(data, some) {
					return data
				}
			}
		}
		return []byte(nil)
	}).([]byte)
}

// tree is where a function's list of inlined calls is, noData for none.
func (f *Function) tree() uint32 {
	lists, tables := f.table.fixed(), f.u32(recordTables)
	at := lists + int(min(tables, maxTables))*4 + callTree*4
	if tables <= inlining || tables > maxTables || f.record[lists-1] <= callTree || len(f.record) < at+4 {
		return noData
	}
	return f.u32(at)
}

// haveCalls tells whether data has the first inlined call of each of some functions.
func (t *Table) haveCalls(data []byte, some []Function) bool {
	for i := range some {
		f := &some[i]
		if _, parent, ok := t.call(data, uint64(f.tree())<<32); !ok || parent >= f.Hi-f.Lo {
			return false
		}
	}
	return true
}

// moduleWords is how many words of runtime.moduledata are looked at.
const moduleWords = 64

// addresses are those that may be that of go:func.*.
func (t *Table) addresses(img *image.Image) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range img.Segments {
			s := &img.Segments[i]
			for at := range t.modules(s) {
				for i := range moduleWords {
					r := bin.NewAt(s.Data, uint64(at+i*t.word), bool(t.order))
					if v := r.Uint(t.word); r.Err() != nil || !yield(v) {
						return
					}
				}
			}
		}
		img.Rebased(yield)
	}
}
