package elf

import (
	"cmp"
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
}

// A ref names a symbol: its table in the two high bits, its number below.
const (
	refShift = 30
	refMask  = 1<<refShift - 1
	noRef    = ^uint32(0)
)

// span is a symbol on the way into the index.
type span struct {
	addr, end uint64
	ref       uint32
	rank      uint8 // larger is better
	sized     bool
}

func newIndex(img *image.Image, tables []symtab) symbolIndex {
	x := symbolIndex{img: img, tables: tables}
	spans := sortSpans(x.spans())
	x.starts, x.refs = make([]uint64, 0, len(spans)), make([]uint32, 0, len(spans))
	x.flatten(spans)
	return x
}

// sortSpans orders spans by address, those of one address by rank, the first of the
// tables last. A library has a hundred thousand, in the order of a hash table, and
// whoever wants one name waits for it: a radix sort takes a fifth of the time that
// comparisons do.
func sortSpans(spans []span) []span {
	differ := uint64(0)
	for i := range spans {
		differ |= spans[i].addr ^ spans[0].addr
	}
	other := make([]span, len(spans))
	const digit = 11
	for shift := 0; differ>>shift != 0; shift += digit {
		var at [1 << digit]int
		for i := range spans {
			at[spans[i].addr>>shift%(1<<digit)]++
		}
		next := 0
		for d, n := range at {
			at[d], next = next, next+n
		}
		for i := range spans {
			d := spans[i].addr >> shift % (1 << digit)
			other[at[d]] = spans[i]
			at[d]++
		}
		spans, other = other, spans
	}
	for from := 0; from < len(spans); {
		to := from + 1
		for to < len(spans) && spans[to].addr == spans[from].addr {
			to++
		}
		if to > from+1 {
			slices.SortFunc(spans[from:to], func(a, b span) int {
				return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.ref, a.ref))
			})
		}
		from = to
	}
	return spans
}

// spans collects the function symbols of all tables.
func (x *symbolIndex) spans() []span {
	total := 0
	for n := range x.tables {
		total += min(x.tables[n].len(), refMask)
	}
	out := make([]span, 0, total)
	for n := range x.tables {
		t := &x.tables[n]
		for i := range min(t.len(), refMask) {
			if s, ok := t.span(n, i); ok {
				out = append(out, s)
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

// rank orders symbols at one address by how well they name it: those with a size
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

// flatten sweeps over the spans in order of address. open holds the symbols that
// have begun, innermost last: a function inside another one (a cold part, a
// second entry) names its own range. A symbol without a size names what no
// sized one covers, up to the next symbol or the end of its section.
func (x *symbolIndex) flatten(spans []span) {
	var open []span
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].addr == spans[0].addr {
			n++
		}
		open = x.closeUntil(open, spans[0].addr)
		if best := spans[n-1]; best.sized {
			open = x.begin(open, spans[:n])
		} else if len(open) == 0 {
			best.end = x.unsizedEnd(x.tables[best.ref>>refShift].f, best.addr)
			if n < len(spans) {
				best.end = min(best.end, spans[n].addr)
			}
			open = x.begin(open, []span{best})
		}
		spans = spans[n:]
	}
	x.closeUntil(open, ^uint64(0))
}

// begin opens the symbols of one address, the best last. Of several with a size
// a worse one shows only where it is longer.
func (x *symbolIndex) begin(open, group []span) []span {
	for _, s := range group {
		if s.end > s.addr {
			open = append(open, s)
			x.cut(s.addr, s.ref)
		}
	}
	return open
}

// closeUntil ends the symbols that end at or before addr, and makes the next
// outer one the answer again.
func (x *symbolIndex) closeUntil(open []span, addr uint64) []span {
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

// maxSections bounds the sections that are looked through for the end of a
// symbol; linked files have less than a hundred.
const maxSections = 1 << 10

// unsizedEnd is how far a symbol without a size can reach: to the end of the
// section that holds it, else of the segment.
func (x *symbolIndex) unsizedEnd(f *file, addr uint64) uint64 {
	for i := range min(f.shnum, maxSections) {
		s := f.shdr(i)
		if s.flags&shfAlloc != 0 && addr-s.addr < s.size {
			return s.addr + s.size
		}
	}
	if s, ok := x.img.Segment(addr); ok {
		return s.Addr + s.Size
	}
	return addr
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
