package elf

import "encoding/binary"

// maxScans is how many addresses are looked up by going through the tables before
// the index is built. For libLLVM's 60,000 symbols the index takes as long as some
// twenty scans, and 5 MB; a backtrace asks for a few addresses of a library.
const maxScans = 16

// scan finds the symbol at addr, as the index of newIndex does, by one pass over the tables. Of
// the symbols whose sizes cover addr, that is the symbol that begins last; else the nearest
// symbol below without a size, if no symbol with a size covers where that one begins.
func (x *symbolIndex) scan(addr uint64) uint32 {
	cover, below := span{ref: noRef}, span{ref: noRef}
	x.eachNear(addr, addr, func(s span) uint64 {
		if s.sized && addr < s.end && x.beats(&s, &cover) {
			cover = s
		}
		if x.beats(&s, &below) {
			below = s
		}
		return addr - below.addr
	})
	if cover.ref != noRef || below.ref == noRef || below.sized {
		return cover.ref
	}
	hidden := false
	x.eachNear(below.addr, 0, func(s span) uint64 {
		hidden = hidden || s.sized && below.addr < s.end
		return 0
	})
	if hidden || addr >= x.unsizedEnd(x.tables[below.ref>>refShift].f, below.addr) {
		return noRef
	}
	return below.ref
}

// beats tells whether s comes behind o in the order of sortEntries.
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

// eachNear calls yield for the function symbols that cover addr or begin at most near bytes
// below it; yield returns how near they are to be from then on.
func (x *symbolIndex) eachNear(addr, near uint64, yield func(span) uint64) {
	mask := x.img.Arch.AddrMask()
	if x.img.Arch.ISABit {
		mask &^= 1
	}
	for n := range x.tables {
		t := &x.tables[n]
		for i := t.next(0, addr, near, mask); i < min(t.len(), refMask); i = t.next(i+1, addr, near, mask) {
			if s, ok := t.span(n, i); ok && s.addr <= addr {
				near = yield(s)
			}
		}
	}
}

// next is the first entry from i on whose value, under mask, and size eachNear looks for;
// or the number of all. Value and size stand side by side.
func (t *symtab) next(i int, addr, near, mask uint64) int {
	if t.f == nil || !t.f.wide || t.f.big {
		for ; i < t.len(); i++ {
			s := t.at(i)
			if at := s.value & mask; at <= addr && (addr-at < s.size || addr-at <= near) {
				break
			}
		}
		return i
	}
	const entry, value, size = 24, 8, 16 // Elf64_Sym
	for syms := t.syms[i*entry:]; len(syms) >= entry; syms = syms[entry:] {
		at := binary.LittleEndian.Uint64(syms[value:]) & mask
		// Of what begins above addr, the difference is larger than any size. Whether something
		// does, nobody could foretell: tables are in the order of a hash.
		if d := addr - at; (d < binary.LittleEndian.Uint64(syms[size:]) || d <= near) && at <= addr {
			break
		}
		i++
	}
	return i
}
