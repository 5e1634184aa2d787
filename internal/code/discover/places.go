package discover

import (
	"slices"
	"sync/atomic"

	"github.com/backsight/backsight/internal/code/disasm"
)

// places is a sorted list of keys. A library has hundreds of thousands of places where functions may
// begin: the list is in parts, each of which is found when a question comes near, until somebody asks
// for all of them.
type places struct {
	code disasm.Code
	in   atomic.Pointer[parts]
}

// parts are the consecutive parts of a list.
type parts struct {
	found []atomic.Pointer[keys]
	index func(key uint64) int // the part where a key is, or would be
	find  func(part int) keys
}

func newPlaces(code disasm.Code, n int, index func(key uint64) int, find func(part int) keys) *places {
	p := &places{code: code}
	p.in.Store(&parts{make([]atomic.Pointer[keys], n), index, find})
	return p
}

// allOf is a list that is known already.
func allOf(code disasm.Code, list keys) *places {
	return newPlaces(code, 1, func(uint64) int { return 0 }, func(int) keys { return list })
}

// part are the places of the part with the number i.
func (p *parts) part(i int) keys {
	if k := p.found[i].Load(); k != nil {
		return *k
	}
	k := p.find(i)
	p.found[i].Store(&k)
	return k
}

// has tells whether a place is among them.
func (p *places) has(at disasm.Addr) bool {
	in := p.in.Load()
	i := in.index(at.Key())
	return i < len(in.found) && in.part(i).has(at)
}

// next is the address of the first place above pc that is not self; false without one.
func (p *places) next(pc, self uint64) (uint64, bool) {
	in := p.in.Load()
	for i := in.index(pc + 1); i < len(in.found); i++ {
		for _, key := range in.part(i).from(pc + 1) {
			if next := p.code.Addr(key).PC; next != self && next > pc {
				return next, true
			}
		}
	}
	return 0, false
}

// below fills the room that pcs has with the addresses of the nearest places at or below one and of its mode, nearest
// first.
func (p *places) below(pcs []uint64, at disasm.Addr) []uint64 {
	in := p.in.Load()
	for i := min(in.index(at.Key()), len(in.found)-1); i >= 0 && len(pcs) < cap(pcs); i-- {
		pcs = in.part(i).below(pcs, p.code, at)
	}
	return pcs
}

// span is a range of addresses.
type span struct{ lo, hi uint64 }

// everywhere is the range of all addresses.
var everywhere = span{0, ^uint64(0)}

// between are the places in a range.
func (p *places) between(in span) (some keys) {
	parts := p.in.Load()
	for i := parts.index(in.lo); i < len(parts.found); i++ {
		for _, key := range parts.part(i).from(in.lo) {
			if key >= in.hi {
				return some
			}
			some = append(some, key)
		}
	}
	return some
}

// list are all of the places. From then on they are one part: where data stand among the code, as in
// a library without sections, most pages have none, and a question would look through thousands.
func (p *places) list() keys {
	in := p.in.Load()
	if len(in.found) != 1 {
		in.findAll()
		var all keys
		for i := range in.found {
			all = append(all, in.part(i)...)
		}
		in = allOf(p.code, slices.Clip(sorted(all))).in.Load() // a place behind a segment can be of two pages
		p.in.Store(in)
	}
	return slices.Clone(in.part(0))
}

// partsAtOnce is how many parts a core takes: some milliseconds of work.
const partsAtOnce = 256

// findAll finds all parts.
func (p *parts) findAll() {
	onAllCores(len(p.found), partsAtOnce, func(_, i int) { p.part(i) })
}
