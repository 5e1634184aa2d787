package pdb

import (
	"sort"

	"github.com/backsight/backsight/internal/bin"
)

// omap is where a tool that rearranges a linked binary moved code, or where that came from: pairs of addresses, sorted by the first,
// each of which holds up to the next. The second is 0 where there is nothing. What symbols, lines and frames say is of the binary
// before ("source"); nil: nothing was moved.
//
//	from source  1000 → 5000, 1040 → 2000, 1060 → 0     1044 is 2004 now
//	to source    2000 → 1040, 2020 → 0, 5000 → 1000
type omap []byte

const pair = 8

func (m omap) begin(i int) uint32 {
	r := bin.NewAt(m, uint64(i)*pair, false)
	return r.U32()
}

// pairOf is the number of the pair that holds for an address, -1 for none.
func (m omap) pairOf(rva uint32) int {
	return sort.Search(len(m)/pair, func(i int) bool { return m.begin(i) > rva }) - 1
}

// find is where an address is on the other side.
func (m omap) find(rva uint32) (uint32, bool) {
	if m == nil {
		return rva, true
	}
	i := m.pairOf(rva)
	if i < 0 {
		return 0, false
	}
	r := bin.NewAt(m, uint64(i)*pair, false)
	begin, to := r.U32(), r.U32()
	return to + (rva - begin), to != 0
}

// around is the piece around an address that was moved as a whole. The last has no end: size is 0.
func (m omap) around(rva uint32) (begin, size uint32) {
	i := m.pairOf(rva)
	if i < 0 {
		return rva, 0
	}
	if begin = m.begin(i); i+1 < len(m)/pair {
		size = m.begin(i+1) - begin
	}
	return begin, size
}

// placed is where a function of the source is now, so that it has the address at: the whole of it, or, where it was taken apart, the
// piece there.
func (f *file) placed(rva, size, at uint32) (begin, length uint32) {
	if f.fromSource == nil {
		return rva, size
	}
	const padding = 64 // which tools put between the pieces of a function
	begin, ok := f.fromSource.find(rva)
	last, whole := f.fromSource.find(rva + max(size, 1) - 1)
	switch span := last - begin; {
	case !ok || at < begin:
	case size == 0:
		return begin, 0
	case whole && span-(size-1) <= padding && at <= last:
		return begin, span + 1
	}
	return f.toSource.around(at)
}
