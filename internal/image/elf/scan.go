package elf

import (
	"encoding/binary"
	"sync/atomic"
)

// maxScans is how many addresses are looked up by going through the tables before the index is built, which for node's 110,000
// symbols takes as long as ten scans, and 2 MB. An image through which a chain goes once is asked for one or two addresses;
// one whose functions are analysed for a dozen to some hundreds: 37 of 45 in cores of crashed programs and their libraries.
const maxScans = 2

// answer is a symbol and the addresses that the symbol is the answer for.
type answer struct {
	lo, hi uint64
	ref    uint32
}

// recent are some answers of scans: the analysis of a function asks for each of its calls and jumps.
type recent struct {
	answers [maxScans]atomic.Pointer[answer]
	n       atomic.Uint32
}

func (r *recent) find(addr uint64) (ref uint32, ok bool) {
	for i := range r.answers {
		if a := r.answers[i].Load(); a != nil && a.lo <= addr && addr < a.hi {
			return a.ref, true
		}
	}
	return 0, false
}

func (r *recent) keep(a answer, addr uint64) {
	if a.lo <= addr && addr < a.hi {
		r.answers[r.n.Add(1)%uint32(len(r.answers))].Store(&a)
	}
}

// scan finds the symbol at addr, as the index of newIndex does, by one pass over the tables. Of
// the symbols whose sizes cover addr, that is the symbol that begins last; else the nearest
// symbol below without a size, if no symbol with a size covers where that one begins. Where the last symbol that begins covers addr,
// that is the answer from its beginning to its end, or the beginning of the next. Where that has ended, as all others have, none is
// the answer from the last end on.
func (x *symbolIndex) scan(addr uint64) answer {
	cover, below := span{ref: noRef}, span{ref: noRef}
	around := x.eachNear(addr, addr, func(s span) uint64 {
		if s.sized && addr < s.end && x.beats(&s, &cover) {
			cover = s
		}
		if x.beats(&s, &below) {
			below = s
		}
		return addr - below.addr
	})
	switch {
	case cover.ref != noRef && cover.ref == below.ref:
		return answer{cover.addr, min(cover.end, around.above), cover.ref}
	case cover.ref == noRef && below.sized:
		return answer{around.ended, around.above, noRef}
	case cover.ref != noRef || below.ref == noRef:
		return answer{ref: cover.ref}
	}
	hidden := false
	x.eachNear(below.addr, 0, func(s span) uint64 {
		hidden = hidden || s.sized && below.addr < s.end
		return 0
	})
	if hidden || addr >= x.unsizedEnd(x.tables[below.ref>>refShift].f, below.addr) {
		return answer{ref: noRef}
	}
	return answer{ref: below.ref}
}

// beats tells whether s names an address better than o: it begins later, or there and has a better rank, a better name, or comes first.
func (x *symbolIndex) beats(s, o *span) bool {
	switch {
	case o.ref == noRef || s.addr != o.addr:
		return o.ref == noRef || s.addr > o.addr
	case s.rank != o.rank:
		return s.rank > o.rank
	}
	if a, b := x.nameCost(s.ref), x.nameCost(o.ref); a != b {
		return a < b
	}
	return s.ref < o.ref
}

// around is between what symbols' addresses lie: none has a value behind an address and below above. The symbols with lower values
// that do not cover the address have ended at ended.
type around struct{ ended, above uint64 }

// eachNear calls yield for the function symbols that cover addr or begin at most near bytes
// below it; yield returns how near they are to be from then on.
func (x *symbolIndex) eachNear(addr, near uint64, yield func(span) uint64) around {
	mask := x.img.Arch.AddrMask()
	if x.img.Arch.ISABit {
		mask &^= 1
	}
	a := around{above: ^uint64(0)}
	for n := range x.tables {
		t := &x.tables[n]
		for i := 0; ; i++ {
			if i = t.next(i, addr, near, mask, &a); i >= min(t.len(), refMask) {
				break
			}
			if s, ok := t.span(n, i); ok && s.addr <= addr {
				near = yield(s)
				if s.end <= addr {
					a.ended = max(a.ended, s.end)
				}
			}
		}
	}
	return a
}

// next is the first entry from i on whose value, under mask, and size eachNear looks for;
// or the number of all. Value and size stand side by side.
func (t *symtab) next(i int, addr, near, mask uint64, a *around) int {
	if t.f == nil || !t.f.wide || t.f.big {
		for ; i < t.len(); i++ {
			s := t.at(i)
			if at := s.value & mask; at > addr {
				a.above = min(a.above, at)
			} else if addr-at < s.size || addr-at <= near {
				break
			} else {
				a.ended = max(a.ended, at+s.size)
			}
		}
		return i
	}
	const entry, value, size = 24, 8, 16 // Elf64_Sym
	ended, up := a.ended, a.above-addr-1
	for syms := t.syms[i*entry:]; len(syms) >= entry; syms = syms[entry:] {
		at, size := binary.LittleEndian.Uint64(syms[value:])&mask, binary.LittleEndian.Uint64(syms[size:])
		// Of what begins above addr, the difference is larger than any size. Whether something
		// does, nobody could foretell: tables are in the order of a hash.
		d := addr - at
		if (d < size || d <= near) && at <= addr {
			break
		}
		if end := at + size; end > ended && end <= addr {
			ended = end
		}
		if ^d < up { // how far behind addr something begins, less one; of what begins below, half of all addresses or more
			up = ^d
		}
		i++
	}
	a.ended, a.above = ended, addr+1+up
	return i
}
