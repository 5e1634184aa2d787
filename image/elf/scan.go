package elf

import "github.com/backsight/backsight/internal/bin"

// maxScans is how many addresses are looked up by going through the tables before
// the index is built. For libLLVM's 60,000 symbols the index takes as long as some
// twenty scans, and 5 MB; a backtrace asks for a few addresses of a library.
const maxScans = 16

// scan finds what newIndex's index finds, by one pass over the tables: the symbol
// with a size that begins last among those that cover addr, else the nearest one
// below that has none, if no sized one covers where it begins.
func (x *symbolIndex) scan(addr uint64) uint32 {
	cover, below := span{ref: noRef}, span{ref: noRef}
	x.eachNear(addr, func(at, size uint64) bool { return addr-at < size || at >= below.addr }, func(s span) {
		if s.sized && addr < s.end && s.beats(&cover) {
			cover = s
		}
		if s.beats(&below) {
			below = s
		}
	})
	if cover.ref != noRef || below.ref == noRef || below.sized {
		return cover.ref
	}
	hidden := false
	x.eachNear(below.addr, func(at, size uint64) bool { return below.addr-at < size }, func(s span) {
		hidden = hidden || s.sized && below.addr < s.end
	})
	if hidden || addr >= x.unsizedEnd(x.tables[below.ref>>refShift].f, below.addr) {
		return noRef
	}
	return below.ref
}

// beats tells whether s comes behind o in the order of sortSpans.
func (s *span) beats(o *span) bool {
	switch {
	case o.ref == noRef || s.addr != o.addr:
		return o.ref == noRef || s.addr > o.addr
	case s.rank != o.rank:
		return s.rank > o.rank
	}
	return s.ref < o.ref
}

// eachNear calls yield for the function symbols that begin at or below addr, of
// those that want chooses by address and size, before a look at what they are.
func (x *symbolIndex) eachNear(addr uint64, want func(at, size uint64) bool, yield func(span)) {
	mask := x.img.Arch.AddrMask()
	if x.img.Arch.ISABit {
		mask &^= 1
	}
	for n := range x.tables {
		t := &x.tables[n]
		if t.len() == 0 {
			continue
		}
		word, entry := int(t.f.layout.addr), int(t.f.layout.sym)
		for i := range min(t.len(), refMask) {
			raw := t.syms[i*entry+word:][:2*word] // value and size stand at 4 or at 8
			at := bin.Uint(raw[:word], t.f.big) & mask
			if at > addr || !want(at, bin.Uint(raw[word:], t.f.big)) {
				continue
			}
			if s, ok := t.span(n, i); ok && s.addr <= addr {
				yield(s)
			}
		}
	}
}
