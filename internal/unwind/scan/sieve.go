package scan

import (
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

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

func newSieve(s *stackwalk.State) (v sieve) {
	snap := s.Snapshot
	v.lo, v.mask = ^uint64(0), codeAddress(s, ^uint64(0))
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

// lets tells whether a word passes.
func (v *sieve) lets(raw uint64) bool {
	addr := raw & v.mask
	p := addr >> pieceShift
	return addr >= v.lo && v.bits[p%pieces/64]>>(p%64)&1 != 0
}

// skip is how many bytes of b, a multiple of size, are words that do not pass. The
// last one of b may be left.
func (v *sieve) skip(b []byte, size uint64, bigEndian bool) int {
	n := 0
	for len(b)-n >= 8 && !v.lets(word(b[n:], size, bigEndian)) {
		n += int(size)
	}
	return n
}
