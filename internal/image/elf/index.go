package elf

import (
	"sort"

	"github.com/backsight/backsight/image"
)

// symbolIndex answers which function symbol covers an address: the symbols of all tables in order of address. Sixteen bytes a symbol,
// and no strings.
type symbolIndex struct {
	img     *image.Image
	tables  []symtab
	entries []entry
}

// A ref names a symbol: its table in the two high bits, its number below.
const (
	refShift = 30
	refMask  = 1<<refShift - 1
	noRef    = ^uint32(0)
)

// span is the range of a symbol.
type span struct {
	addr, end uint64
	ref       uint32
	rank      uint8 // larger is better
	sized     bool
}

func newIndex(img *image.Image, tables []symtab) symbolIndex {
	x := symbolIndex{img: img, tables: tables}
	x.entries = sortEntries(x.collect())
	x.rankAliases()
	x.nest()
	return x
}

// collect are the function symbols of all tables.
func (x *symbolIndex) collect() []entry {
	total := 0
	for n := range x.tables {
		total += min(x.tables[n].len(), refMask)
	}
	out := make([]entry, 0, total)
	for n := range x.tables {
		t := &x.tables[n]
		for i := range min(t.len(), refMask) {
			if s, ok := t.span(n, i); ok {
				out = append(out, newEntry(&s))
			}
		}
	}
	return out
}

// span is the i-th symbol of the n-th table, if it names a function.
func (t *symtab) span(n, i int) (span, bool) {
	s := t.at(i)
	if !t.isFunction(&s) || !t.hasName(&s) {
		return span{}, false
	}
	addr, _ := t.code(&s)
	return span{addr: addr, end: s.endFrom(addr), ref: uint32(n)<<refShift | uint32(i), rank: rank(&s), sized: s.size != 0}, true
}

// rank orders the symbols of one address by how well they name it: symbols with a size
// first, then functions before labels, then global before weak before local.
func rank(s *sym) (r uint8) {
	if s.size != 0 {
		r += 8
	}
	if s.typ() != sttNotype {
		r += 4
	}
	return r + bindRank(s)
}

func bindRank(s *sym) uint8 {
	switch s.bind() {
	case stbLocal:
		return 0
	case stbWeak:
		return 1
	}
	return 2
}

// maxNested bounds the symbols around an address that are looked at, one within the other: a function, its cold part, a second entry;
// maxAliases those that begin at one address, the last of them in the index.
const maxNested, maxAliases = 256, 64

// find returns the table and the symbol that cover addr. Of the symbols whose sizes cover addr, that is the one that begins last; else
// the nearest symbol below without a size, up to the end of its section, if no symbol with a size covers where that one begins.
func (x *symbolIndex) find(addr uint64) (*symtab, sym, bool) {
	n := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].addr > addr })
	if n == 0 {
		return nil, sym{}, false
	}
	if i := x.covers(n, addr); i > 0 {
		best, _ := x.best(i, addr)
		return x.symbol(best.ref)
	}
	below, first := x.best(n, 0)
	if below.sized || x.covers(first, below.addr) > 0 || addr >= x.unsizedEnd(x.tables[below.ref>>refShift].f, below.addr) {
		return nil, sym{}, false
	}
	return x.symbol(below.ref)
}

// covers is the last of the first n entries that covers an address at or behind all of them, counted from 1; 0: none does.
func (x *symbolIndex) covers(n int, addr uint64) int {
	for range maxNested {
		if n == 0 || x.end(&x.entries[n-1]) > addr {
			return n
		}
		n = int(x.entries[n-1].outer)
	}
	return 0
}

// best is the best of the symbols that begin where the n-th entry does, the n-th and those before it, and end behind addr, unless addr is
// 0: a symbol without a size at address 0, as the start of firmware, ends there. first is how many entries there are before.
func (x *symbolIndex) best(n int, addr uint64) (best span, first int) {
	best.ref = noRef
	for first = n; first > max(0, n-maxAliases) && x.entries[first-1].addr == x.entries[n-1].addr; first-- {
		if s := x.span(x.entries[first-1].ref); (s.end > addr || addr == 0) && x.beats(&s, &best) {
			best = s
		}
	}
	return best, first
}

// rankAliases puts the best of the symbols that begin at one address last, where these are many: a linker that folds equal functions
// gives thousands of names to an empty one.
func (x *symbolIndex) rankAliases() {
	for from, to := 0, 0; from < len(x.entries); from = to {
		for to = from + 1; to < len(x.entries) && x.entries[to].addr == x.entries[from].addr; {
			to++
		}
		if to-from <= maxAliases {
			continue
		}
		best, last := x.span(x.entries[to-1].ref), &x.entries[to-1]
		for i := from; i < to; i++ {
			if s := x.span(x.entries[i].ref); x.beats(&s, &best) {
				best = s
				*last, x.entries[i] = x.entries[i], *last
			}
		}
	}
}

// span is the range of the symbol that a ref names.
func (x *symbolIndex) span(ref uint32) span {
	s, _ := x.tables[ref>>refShift].span(int(ref>>refShift), int(ref&refMask))
	return s
}

// symbol is what a ref names.
func (x *symbolIndex) symbol(ref uint32) (*symtab, sym, bool) {
	if ref == noRef {
		return nil, sym{}, false
	}
	t := &x.tables[ref>>refShift]
	return t, t.at(int(ref & refMask)), true
}
