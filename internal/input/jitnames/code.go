package jitnames

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// code finds functions whose code a log has, by address and time.
type code struct {
	*index
	places [placeBits / 64]uint64 // a bit for each 2 MB in which some function lies
}

// Most words of a stack lead to none of the 2 MB in which functions lie.
const placeBits, placeShift = 1 << 12, 21

func newCode(list []*function) *code {
	list = slices.DeleteFunc(slices.Clone(list), func(f *function) bool { return f.record == nil || f.code.size == 0 })
	c := &code{index: newIndex(list)}
	for i := range c.pieces {
		p := &c.pieces[i]
		for at, n := p.lo>>placeShift, 0; at <= (p.hi-1)>>placeShift && n < placeBits; at, n = at+1, n+1 {
			c.places[at%placeBits/64] |= 1 << (at % 64)
		}
	}
	return c
}

// maxPieces bounds the pieces of a function that are looked at.
const maxPieces = 1 << 6

// at is the function at an address at a time of CLOCK_MONOTONIC, nil if none is known, or if another one has taken a part of its place. Where
// nothing but one function ever lay, that lies there at all times: its record may be late (HotSpot's thread for events writes them).
func (c *code) at(addr, time uint64) *function {
	has := c.piece(addr)
	if has == nil {
		return nil
	}
	f := c.during(has, time)
	if f == nil {
		return nil
	}
	p := c.from(f.addr)
	for i := range p {
		switch {
		case p[i].lo >= f.addr+f.size:
			return f
		case i == maxPieces || c.during(&p[i], time) != f:
			return nil
		}
	}
	return f
}

// during is the function that lay in a piece at a time: the latest of those that were made by then.
func (c *code) during(p *piece, time uint64) (f *function) {
	if len(p.which) == 1 {
		return c.list[p.which[0]]
	}
	for _, i := range p.which {
		if made := c.list[i]; made.time <= time && (f == nil || made.time >= f.time) {
			f = made
		}
	}
	return f
}

// near tells whether some function may lie at an address.
func (c *code) near(addr uint64) bool {
	at := addr >> placeShift
	return c.places[at%placeBits/64]>>(at%64)&1 != 0
}

// touched appends the functions that a thread may be in: its registers or the words of its stack lead there, behind a call, or to where
// it was interrupted.
func (c *code) touched(dst []*function, snap *target.Snapshot, t *target.Thread, time uint64) []*function {
	add := func(addr uint64) {
		if f := c.at(addr, time); f != nil {
			dst = append(dst, f)
		}
	}
	arch := snap.Arch
	pc, _ := t.Regs.Lookup(arch.PC)
	add(pc)
	for regs := t.Regs.Known; regs != 0; regs = regs.Without(regs.First()) {
		add(t.Regs.Val[regs.First()] - 1)
	}
	sp, _ := t.Regs.Lookup(arch.SP)
	size, order := arch.AddrSize, bin.Order(arch.BigEndian)
	for stack := snap.Of(t).Memory.Bytes(sp); len(stack) >= size; stack = stack[size:] {
		v := uint64(order.U32(stack))
		if size == 8 {
			v = order.U64(stack)
		}
		if v--; c.near(v) {
			add(v)
		}
		for _, bits := range arch.AddrBits {
			if v := target.Unsigned(v, 1<<bits-1); c.near(v) {
				add(v)
			}
		}
	}
	slices.SortFunc(dst, func(a, b *function) int { return cmp.Compare(a.addr, b.addr) })
	return slices.Compact(dst)
}
