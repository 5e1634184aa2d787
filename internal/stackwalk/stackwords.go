package stackwalk

import (
	"encoding/binary"
	"iter"

	"github.com/backsight/backsight/target"
)

// Words are the aligned words of the stack from sp on, so many at most, with their addresses.
func (s *State) Words(sp, most uint64) iter.Seq2[uint64, uint64] {
	return func(yield func(slot, raw uint64) bool) { s.words(sp, most, nil, yield) }
}

// CodeWords are those of Words that may be code addresses.
func (s *State) CodeWords(sp, most uint64) iter.Seq2[uint64, uint64] {
	return func(yield func(slot, raw uint64) bool) {
		v := newSieve(s)
		s.words(sp, most, &v, yield)
	}
}

// words yields the words that v, unless nil, lets through.
func (s *State) words(sp, most uint64, v *sieve, yield func(slot, raw uint64) bool) {
	stack := s.Stack
	if stack.Lo == stack.Hi {
		stack = s.Snapshot.Memory.RangeAt(sp)
	}
	size, big := uint64(s.Snapshot.Arch.RegSize), s.Snapshot.Arch.BigEndian
	slot := (sp + size - 1) &^ (size - 1)
	if !stack.Contains(slot) {
		return
	}
	end := slot + size*min(most, (stack.Hi-slot+size-1)/size)
	var near []byte // captured memory at slot
	for slot != end {
		if v != nil {
			near = near[:min(uint64(len(near)), end-slot)]
			n := v.skip(near, size, big)
			near, slot = near[n:], slot+uint64(n)
			if slot == end {
				return
			}
		}
		var raw uint64
		if ok := len(near) >= 8; ok {
			raw = word(near, size, big)
			near = near[size:]
		} else if raw, ok = s.Snapshot.Memory.Uint(slot, int(size)); !ok {
			return
		} else {
			near = s.Snapshot.Memory.Bytes(slot + size)
		}
		if (v == nil || v.lets(raw)) && !yield(slot, raw) {
			return
		}
		slot += size
	}
}

// CodeAddress is raw without pointer authentication, its ISA mode kept.
func (s *State) CodeAddress(raw uint64) uint64 {
	raw &= s.Snapshot.Arch.AddrMask()
	if mask := s.Snapshot.CodeMask; mask != 0 {
		return target.Unsigned(raw, mask)
	}
	return raw
}

// word reads the first of at least 8 bytes as a word of 4 or 8.
func word(b []byte, size uint64, bigEndian bool) uint64 {
	switch {
	case size == 8 && bigEndian:
		return binary.BigEndian.Uint64(b)
	case size == 8:
		return binary.LittleEndian.Uint64(b)
	case bigEndian:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// sieve lets through the words that may be code addresses: all that lie in modules
// or in captured memory which is not known to hold only data, and a few others.
// Most words of a stack are neither, and need not be looked at more closely.
//
// The address space is cut into pieces of 16 MB; a bit stands for all pieces with
// the same number modulo 1024.
type sieve struct {
	lo   uint64 // nothing lies below: most words are small numbers
	mask uint64 // of a code address in a word
	bits [pieces / 64]uint64
}

const (
	pieceShift = 24
	pieces     = 1024
)

func newSieve(s *State) (v sieve) {
	snap := s.Snapshot
	v.lo, v.mask = ^uint64(0), s.CodeAddress(^uint64(0))
	if snap.Arch.Micro() {
		v.add(target.Range{Hi: ^uint64(0)}) // EXC_RETURN is an address of nothing
	}
	for _, m := range snap.Modules {
		v.add(m.Range)
	}
	for _, r := range snap.Memory.MayHoldCode() {
		v.add(r)
	}
	return v
}

// add lets addresses of r through, and the one behind it: a call can be the last
// instruction of all.
func (v *sieve) add(r target.Range) {
	v.lo = min(v.lo, r.Lo)
	lo, hi := r.Lo>>pieceShift, r.Hi>>pieceShift
	for p := lo; p <= hi && p < lo+pieces; p++ {
		v.bits[p%pieces/64] |= 1 << (p % 64)
	}
}

// lets tells whether a word passes. There is no branch for what is too low: words of a stack come in no order, and a
// branch that is foreseen wrongly costs more than all else.
func (v *sieve) lets(raw uint64) bool {
	addr := raw & v.mask
	p := addr >> pieceShift
	passes := v.bits[p%pieces/64] >> (p % 64)
	if addr < v.lo {
		passes = 0
	}
	return passes&1 != 0
}

// skip is how many bytes of b, a multiple of size, are words that do not pass. The
// last one of b may be left.
func (v *sieve) skip(b []byte, size uint64, bigEndian bool) int {
	rest := b
	if size == 8 && !bigEndian {
		for len(rest) >= 8 && !v.lets(binary.LittleEndian.Uint64(rest)) {
			rest = rest[8:]
		}
	} else {
		for len(rest) >= 8 && !v.lets(word(rest, size, bigEndian)) {
			rest = rest[size:]
		}
	}
	return len(b) - len(rest)
}
