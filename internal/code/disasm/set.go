package disasm

import (
	"iter"
	"math/bits"
	"slices"
)

// None is what the searches of Offsets return where nothing is found.
const None = ^uint32(0)

// Offsets is a set of offsets from an address. Its memory is a bit for each offset up
// to the highest one, and is used again after Reset.
type Offsets struct {
	bits []uint64
	used int // words that may hold something
}

// Reset empties the set.
func (s *Offsets) Reset() {
	clear(s.bits[:s.used])
	s.used = 0
}

// Span is the number of offsets that the set has room for: a bound for all in the set.
func (s *Offsets) Span() uint64 { return uint64(s.used) * 64 }

// Has tells whether an offset is in the set.
func (s *Offsets) Has(at uint32) bool {
	return int(at/64) < s.used && s.bits[at/64]>>(at%64)&1 != 0
}

// Add puts an offset into the set.
func (s *Offsets) Add(at uint32) {
	if int(at/64) >= s.used {
		s.reach(at)
	}
	s.bits[at/64] |= 1 << (at % 64)
}

// AddAll adds offsets from at on, by the bits of a word that is not 0.
func (s *Offsets) AddAll(at uint32, word uint64) {
	s.reach(at + uint32(bits.Len64(word)) - 1)
	addFrom(s.bits, uint64(at), word)
}

// addFrom adds the bits of a word to a list of bits, from number k on.
func addFrom(list []uint64, k, word uint64) {
	list[k/64] |= word << (k % 64)
	if behind := word >> 1 >> (63 - k%64); behind != 0 {
		list[k/64+1] |= behind
	}
}

// Remove takes an offset out of the set.
func (s *Offsets) Remove(at uint32) {
	if s.Has(at) {
		s.bits[at/64] &^= 1 << (at % 64)
	}
}

func (s *Offsets) reach(at uint32) {
	for int(at/64) >= len(s.bits) {
		s.bits = append(s.bits, make([]uint64, len(s.bits)+64)...)
	}
	s.used = max(s.used, int(at/64)+1)
}

// AddRange adds lo ≤ at < hi.
func (s *Offsets) AddRange(lo, hi uint32) {
	if lo/64 == (hi-1)/64 && int(lo/64) < s.used {
		s.bits[lo/64] |= (1<<(hi-lo) - 1) << (lo % 64)
		return
	}
	s.reach(hi)
	for ; lo < hi; lo = lo&^63 + 64 {
		some := ^uint64(0) << (lo % 64)
		if hi-lo&^63 < 64 {
			some &= 1<<(hi%64) - 1
		}
		s.bits[lo/64] |= some
	}
}

// Without is the first offset from at on that is not in the set.
func (s *Offsets) Without(at uint32) uint32 {
	for int(at/64) < s.used {
		if rest := ^s.bits[at/64] >> (at % 64); rest != 0 {
			return at + uint32(bits.TrailingZeros64(rest))
		}
		at = at&^63 + 64
	}
	return at
}

// Next is the first offset from at on that is in the set, None if there is none.
func (s *Offsets) Next(at uint32) uint32 {
	for int(at/64) < s.used {
		if rest := s.bits[at/64] >> (at % 64); rest != 0 {
			return at + uint32(bits.TrailingZeros64(rest))
		}
		at = at&^63 + 64
	}
	return None
}

// Set is a set of places in an image's code. It takes a bit for each address at which
// an instruction can begin, and mode that the image has: an eighth of the code's size at most.
type Set struct {
	align uint64
	modes bool // an image of one set of instructions takes a quarter
	runs  []run
}

// run has the bits of one executable segment, from an address on.
type run struct {
	lo, size uint64
	base     uint64 // where bit 0 is: lo or a bit lower
	bits     []uint64
}

// NewSet returns the empty set of places in an image's code.
func NewSet(c Code) *Set { return NewSetIn(c, 0, ^uint64(0)) }

// NewSetIn is NewSet for the code between two addresses.
func NewSetIn(c Code, lo, hi uint64) *Set {
	s := &Set{align: c.Arch.InsnAlign, modes: c.Arch.ISABit && !c.Img.OneMode}
	if !s.modes {
		s.align = c.Arch.InsnAlignIn(0)
	}
	c.Text(func(addr uint64, code []byte) {
		from, to := max(addr, lo), min(addr+uint64(len(code)), hi)
		if from > to || from == to && len(code) > 0 {
			return
		}
		base := from &^ (s.align - 1)
		n := (to-base)/s.align + 1
		if s.modes {
			n *= 2
		}
		s.runs = append(s.runs, run{from, to - from, base, make([]uint64, n/64+1)})
	})
	return s
}

// bit finds the word and the mask of a place; nil outside the code.
func (s *Set) bit(at Addr) (*uint64, uint64) {
	if !s.modes && (at.Mode != 0 || at.PC&(s.align-1) != 0) {
		return nil, 0
	}
	r := s.run(at.PC)
	if r == nil {
		return nil, 0
	}
	k := (at.PC - r.base) / s.align
	if s.modes {
		k = k<<1 | uint64(at.Mode)
	}
	return &r.bits[k/64], 1 << (k % 64)
}

// Has tells whether a place is in the set; places outside the code are, so that no
// traversal goes there.
func (s *Set) Has(at Addr) bool {
	w, mask := s.bit(at)
	return w == nil || *w&mask != 0
}

// Add puts a place into the set and tells whether the place is new.
func (s *Set) Add(at Addr) bool {
	w, mask := s.bit(at)
	if w == nil || *w&mask != 0 {
		return false
	}
	*w |= mask
	return true
}

// AddAll adds the places from one on, in its mode, that the bits of a word stand for: one for each byte. All are code.
func (s *Set) AddAll(at Addr, word uint64) {
	if r := s.run(at.PC); r != nil && !s.modes && s.align == 1 {
		addFrom(r.bits, at.PC-r.base, word)
		return
	}
	for ; word != 0; word &= word - 1 {
		s.Add(Addr{at.PC + uint64(bits.TrailingZeros64(word)), at.Mode})
	}
}

// Ahead is how many bytes from a place on begin none of the set, in its mode: 64 at most.
func (s *Set) Ahead(at Addr) uint32 {
	if r := s.run(at.PC); r != nil && !s.modes && s.align == 1 {
		k := at.PC - r.base
		word := r.bits[k/64] >> (k % 64)
		if k%64 != 0 && k/64+1 < uint64(len(r.bits)) {
			word |= r.bits[k/64+1] << (64 - k%64)
		}
		return uint32(min(uint64(bits.TrailingZeros64(word)), r.size-(at.PC-r.lo)))
	}
	n := uint32(0)
	for ; n < 64 && !s.Has(Addr{at.PC + uint64(n), at.Mode}); n += uint32(s.align) {
	}
	return n
}

// run is the run that has an address, nil where none has.
func (s *Set) run(pc uint64) *run {
	for i := range s.runs {
		if r := &s.runs[i]; pc-r.lo < r.size {
			return r
		}
	}
	return nil
}

// Keys are the keys of the places in the set, sorted.
func (s *Set) Keys() []uint64 { return s.Without(&Set{runs: make([]run, len(s.runs))}) }

// Without are the keys of the places that are in s and not in o, sorted. Both sets are of
// one image.
func (s *Set) Without(o *Set) (keys []uint64) {
	keys = make([]uint64, 0, s.count(o))
	for key := range s.Outside(o) {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Outside yields what Without lists, segment by segment, and keeps no list.
func (s *Set) Outside(o *Set) iter.Seq[uint64] {
	return func(yield func(key uint64) bool) {
		for i := range s.runs {
			r, other := &s.runs[i], o.runs[i].bits
			for w, word := range r.bits {
				if other != nil {
					word &^= other[w]
				}
				for ; word != 0; word &= word - 1 {
					if !yield(s.key(r, uint64(w*64+bits.TrailingZeros64(word)))) {
						return
					}
				}
			}
		}
	}
}

// count is how many places are in s and not in o.
func (s *Set) count(o *Set) (n int) {
	for i := range s.runs {
		other := o.runs[i].bits
		for w, word := range s.runs[i].bits {
			if other != nil {
				word &^= other[w]
			}
			n += bits.OnesCount64(word)
		}
	}
	return n
}

// key is that of the place with the bit number k.
func (s *Set) key(r *run, k uint64) uint64 {
	if s.modes {
		return r.base + k>>1*s.align | k&1
	}
	return r.base + k*s.align
}
