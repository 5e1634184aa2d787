package discover

import (
	"slices"
	"sync/atomic"

	"github.com/backsight/backsight/internal/code/disasm"
)

// places is a sorted list of keys in parts. A library has hundreds of thousands of places where
// functions may begin: each part is found when a question comes near.
type places struct {
	code  disasm.Code
	parts []atomic.Pointer[keys]
	index func(key uint64) int // the part where a key is, or would be
	find  func(part int) keys
}

// allOf is a list that is known already.
func allOf(code disasm.Code, list keys) *places {
	return &places{code, make([]atomic.Pointer[keys], 1), func(uint64) int { return 0 }, func(int) keys { return list }}
}

// part are the places with the number i.
func (p *places) part(i int) keys {
	if k := p.parts[i].Load(); k != nil {
		return *k
	}
	k := p.find(i)
	p.parts[i].Store(&k)
	return k
}

// has tells whether a place is among them.
func (p *places) has(at disasm.Addr) bool {
	i := p.index(at.Key())
	return i < len(p.parts) && p.part(i).has(at)
}

// next is the address of the first place above pc that is not self; false without one.
func (p *places) next(pc, self uint64) (uint64, bool) {
	for i := p.index(pc + 1); i < len(p.parts); i++ {
		for _, key := range p.part(i).from(pc + 1) {
			if next := p.code.Addr(key).PC; next != self && next > pc {
				return next, true
			}
		}
	}
	return 0, false
}

// below are the addresses of the nearest n places at or below one and of its mode, nearest
// first.
func (p *places) below(at disasm.Addr, n int) (pcs []uint64) {
	for i := min(p.index(at.Key()), len(p.parts)-1); i >= 0 && len(pcs) < n; i-- {
		pcs = append(pcs, p.part(i).below(p.code, at, n-len(pcs))...)
	}
	return pcs
}

// span is a range of addresses.
type span struct{ lo, hi uint64 }

// everywhere is the range of all addresses.
var everywhere = span{0, ^uint64(0)}

// between are the places in a range.
func (p *places) between(in span) (some keys) {
	for i := p.index(in.lo); i < len(p.parts); i++ {
		for _, key := range p.part(i).from(in.lo) {
			if key >= in.hi {
				return some
			}
			some = append(some, key)
		}
	}
	return some
}

// list are all of the places.
func (p *places) list() (all keys) {
	for i := range p.parts {
		all = append(all, p.part(i)...)
	}
	return slices.Clip(all)
}
