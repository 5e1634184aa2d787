package disasm

import (
	"math/bits"
	"slices"
)

// Counted is a set as it was, with the number of places in front of each block of its bits: whether one lies between two
// addresses costs the same however far apart these are. A list of the places would take eight bytes for each.
type Counted struct {
	Set
	front [][]uint32 // by run and block
}

// countedBits is how many bits a block has.
const countedBits = 512

// Counted copies the set.
func (s *Set) Counted() *Counted {
	c := &Counted{Set: Set{s.align, s.modes, slices.Clone(s.runs)}}
	for i := range c.runs {
		r := &c.runs[i]
		r.bits = slices.Clone(r.bits)
		var front []uint32
		n := 0
		for w, word := range r.bits {
			if w%(countedBits/64) == 0 {
				front = append(front, uint32(n))
			}
			n += bits.OnesCount64(word)
		}
		c.front = append(c.front, front)
	}
	return c
}

// Between tells whether the key of a place of the set is at least lo and at most hi.
func (c *Counted) Between(lo, hi uint64) bool {
	for i := range c.runs {
		r := &c.runs[i]
		from, to := max(lo, r.lo), min(hi, r.lo+r.size-1)
		if r.size > 0 && from <= to && c.below(i, from) < c.below(i, to+1) {
			return true
		}
	}
	return false
}

// below is how many keys of a run are less than one.
func (c *Counted) below(run int, key uint64) int {
	r := &c.runs[run]
	k := (key - r.base + c.align - 1) / c.align
	if c.modes {
		k = (key-r.base)/c.align*2 + min((key-r.base)%c.align, 2)
	}
	n := int(c.front[run][k/countedBits])
	for w := k &^ (countedBits - 1) / 64; w < k/64; w++ {
		n += bits.OnesCount64(r.bits[w])
	}
	return n + bits.OnesCount64(r.bits[k/64]&(1<<(k%64)-1))
}
