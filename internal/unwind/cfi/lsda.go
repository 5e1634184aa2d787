package cfi

import (
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// Exceptions is the address of the data for exceptions of the function at pc (LSDA, "language-specific data area"), 0 where it
// has none, and where the function, or its part, begins and ends; known: a table has the function.
func (*Source) Exceptions(img *image.Image, pc uint64) (lo, hi, lsda uint64, known bool) {
	var f fde
	l, v := tableOf(img, img.Arch).find(pc, &f)
	if v != unwind.Found {
		return 0, 0, 0, false
	}
	lo, hi = f.start, f.start+f.size
	if f.cie.lsdaEnc == encOmit {
		return lo, hi, 0, true
	}
	r := l.reader(f.augmented.off, f.augmented.end)
	lsda, known = l.pointer(&r, f.cie.lsdaEnc, f.cie.addrSize, f.start)
	return lo, hi, lsda, known && r.Err() == nil
}

// maxPads bounds the landing pads of a function.
const maxPads = 1 << 14

// LandingPads are the places where exceptions enter the function that begins at start, in order, by its data for exceptions (GCC's
// unwind-pe.h and libsupc++/eh_personality.cc, parse_lsda_header). complete: there are no others.
func LandingPads(img *image.Image, start, lsda uint64) (pads []uint64, complete bool) {
	s := section{img: img, arch: img.Arch, data: img.Segments.Bytes(lsda), addr: lsda}
	r := s.reader(0, uint64(len(s.data)))
	size, base, ok := s.arch.AddrSize, start, true
	if enc := r.U8(); enc != encOmit {
		base, ok = s.pointer(&r, enc, size, start)
	}
	if r.U8() != encOmit {
		r.ULEB() // where the types are
	}
	enc := r.U8()
	length := r.ULEB()
	end := uint64(r.Offset()) + length
	if !ok || r.Err() != nil || enc == encOmit || length > uint64(r.Len()) {
		return nil, false
	}
	for ok && uint64(r.Offset()) < end && len(pads) < maxPads {
		number(&r, enc&encFormat, size) // the call
		number(&r, enc&encFormat, size) // its length
		var pad uint64
		pad, ok = number(&r, enc&encFormat, size)
		r.ULEB() // what is caught there
		if ok = ok && r.Err() == nil; ok && pad != 0 {
			pads = append(pads, (base+pad)&s.arch.AddrMask())
		}
	}
	slices.Sort(pads)
	return slices.Compact(pads), ok && uint64(r.Offset()) == end
}
