package elf

import (
	"slices"

	"github.com/backsight/backsight/image"
)

// symbolIndex answers which function symbol covers an address. It is the address
// space cut at every place where the answer changes: refs[i] is the answer from
// starts[i] up to starts[i+1]. Twelve bytes an interval and no strings.
type symbolIndex struct {
	img    *image.Image
	tables []symtab
	starts []uint64
	refs   []uint32
	reach  reach
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
	entries := x.sortEntries(x.entries())
	x.starts, x.refs = make([]uint64, 0, len(entries)), make([]uint32, 0, len(entries))
	x.flatten(entries)
	return x
}

// entries collects the function symbols of all tables.
func (x *symbolIndex) entries() []entry {
	total := 0
	for n := range x.tables {
		total += min(x.tables[n].len(), refMask)
	}
	out := make([]entry, 0, total)
	for n := range x.tables {
		t := &x.tables[n]
		for i := range min(t.len(), refMask) {
			if s, ok := t.span(n, i); ok {
				out = append(out, newEntry(s))
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
	end := addr + s.size
	if end < addr {
		end = ^uint64(0)
	}
	return span{addr: addr, end: end, ref: uint32(n)<<refShift | uint32(i), rank: rank(&s), sized: s.size != 0}, true
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

// flatten sweeps over the symbols in order of address. open holds the symbols that
// have begun and not ended, innermost last: a function inside another (a cold part, a
// second entry) names its own range. A symbol without a size names the addresses up to the next
// symbol or the end of its section, as far as no symbol with a size covers them.
func (x *symbolIndex) flatten(entries []entry) {
	var open []opened
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].addr == entries[0].addr {
			n++
		}
		open = x.closeUntil(open, entries[0].addr)
		if best := entries[n-1]; best.sized() {
			open = x.begin(open, entries[:n])
		} else if len(open) == 0 {
			end := x.unsizedEnd(x.tables[best.ref>>refShift].f, best.addr)
			if n < len(entries) {
				end = min(end, entries[n].addr)
			}
			open = x.open(open, best.addr, opened{end, best.ref})
		}
		entries = entries[n:]
	}
	x.closeUntil(open, ^uint64(0))
}

// opened is a symbol that has begun and where it ends.
type opened struct {
	end uint64
	ref uint32
}

// begin opens the symbols of one address, the best last. Of several symbols with a size, a worse
// one shows only behind the ends of all better ones.
func (x *symbolIndex) begin(open []opened, group []entry) []opened {
	first, last := len(open), uint64(0)
	for i := len(group) - 1; i >= 0; i-- {
		if end := x.end(&group[i]); end > last {
			open = x.open(open, group[i].addr, opened{end, group[i].ref})
			last = end
		}
	}
	slices.Reverse(open[first:])
	if len(open) > first {
		x.cut(group[0].addr, open[len(open)-1].ref)
	}
	return open
}

func (x *symbolIndex) open(open []opened, addr uint64, s opened) []opened {
	if s.end <= addr {
		return open
	}
	x.cut(addr, s.ref)
	return append(open, s)
}

// closeUntil ends the symbols that end at or before addr, and makes the next
// outer symbol the answer again.
func (x *symbolIndex) closeUntil(open []opened, addr uint64) []opened {
	for len(open) > 0 {
		top := open[len(open)-1]
		if top.end > addr {
			break
		}
		open = open[:len(open)-1]
		for len(open) > 0 && open[len(open)-1].end <= top.end {
			open = open[:len(open)-1]
		}
		next := noRef
		if len(open) > 0 {
			next = open[len(open)-1].ref
		}
		x.cut(top.end, next)
	}
	return open
}

// cut makes ref the answer from addr on.
func (x *symbolIndex) cut(addr uint64, ref uint32) {
	if n := len(x.starts); n > 0 && x.starts[n-1] == addr {
		x.refs[n-1] = ref
		return
	}
	x.starts, x.refs = append(x.starts, addr), append(x.refs, ref)
}

// find returns the table and the symbol that cover addr.
func (x *symbolIndex) find(addr uint64) (*symtab, sym, bool) {
	i, ok := slices.BinarySearch(x.starts, addr)
	if !ok {
		i--
	}
	if i < 0 {
		return nil, sym{}, false
	}
	return x.symbol(x.refs[i])
}

// symbol is what a ref names.
func (x *symbolIndex) symbol(ref uint32) (*symtab, sym, bool) {
	if ref == noRef {
		return nil, sym{}, false
	}
	t := &x.tables[ref>>refShift]
	return t, t.at(int(ref & refMask)), true
}
