package discover

import (
	"slices"

	"github.com/backsight/backsight/internal/code/disasm"
)

// keys is a sorted list of places.
type keys []uint64

// sorted sorts a list in place and drops what is in there twice.
func sorted(list []uint64) keys {
	slices.Sort(list)
	return slices.Compact(list)
}

// merged is sorted for a list that is likely to be sorted from number n on, as unwind tables are: of
// libLLVM's 150,000 places 40,000 are not.
func merged(list []uint64, n int) keys {
	rest := list[n:]
	if !slices.IsSorted(rest) {
		return sorted(list)
	}
	out := list[:0] // never longer than what was taken from both
	for _, key := range sorted(slices.Clone(list[:n])) {
		for len(rest) > 0 && rest[0] < key {
			out, rest = append(out, rest[0]), rest[1:]
		}
		out = append(out, key)
	}
	return slices.Compact(append(out, rest...))
}

func (l keys) has(at disasm.Addr) bool {
	_, ok := slices.BinarySearch(l, at.Key())
	return ok
}

// from are the keys from one on.
func (l keys) from(key uint64) keys {
	i, _ := slices.BinarySearch(l, key)
	return l[i:]
}

// next is the address of the first place above pc that is not self; without one, the end
// of pc's segment.
func (l keys) next(c disasm.Code, pc, self uint64) uint64 {
	for _, key := range l.from(pc + 1) {
		if next := c.Addr(key).PC; next != self && next > pc {
			return next
		}
	}
	return endOf(c, pc)
}

// endOf is the end of pc's segment, pc where there is none.
func endOf(c disasm.Code, pc uint64) uint64 {
	if s, ok := c.Img.Segments.At(pc); ok {
		return s.Addr + s.Size
	}
	return pc
}

// below fills the room that pcs has with the addresses of the nearest places at or below one and of its mode, nearest
// first.
func (l keys) below(pcs []uint64, c disasm.Code, at disasm.Addr) []uint64 {
	i, found := slices.BinarySearch(l, at.Key())
	if found {
		i++
	}
	for i--; i >= 0 && len(pcs) < cap(pcs); i-- {
		if a := c.Addr(l[i]); a.Mode == at.Mode {
			pcs = append(pcs, a.PC)
		}
	}
	return pcs
}
