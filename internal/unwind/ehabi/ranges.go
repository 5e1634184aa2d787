package ehabi

import "github.com/backsight/backsight/image"

// FunctionRanges calls yield for the range lo ≤ address < hi of every index table
// entry that can be unwound, in image addresses and in order, until it returns
// false. The linker merges neighbours with equal entries, so that a range may hold
// several functions; the last one ends with its segment.
func (Source) FunctionRanges(img *image.Image, yield func(lo, hi uint64) bool) {
	base, table := index(img)
	n := len(table) / entrySize
	for k := range n {
		lo := function(table, base, k, img.Arch.BigEndian)
		s, ok := img.Segments.At(lo)
		if !ok || !s.Exec || word(table[k*entrySize+4:], img.Arch.BigEndian) == cantUnwind {
			continue
		}
		hi := s.Addr + s.Size
		if k+1 < n {
			hi = min(hi, function(table, base, k+1, img.Arch.BigEndian))
		}
		if hi > lo && !yield(lo, hi) {
			return
		}
	}
}
