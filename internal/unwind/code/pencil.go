package code

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/backsight/backsight/cpu"
)

const (
	maxSketch   = 1 << 16 // instructions of one function
	maxSpan     = 1 << 24 // bytes from its entry on
	maxSketched = 512     // places tried for a jump whose targets are not known
	maxRedraws  = 6
)

// pencil draws sketches, one after another, into memory that it uses again. It goes
// through a function by address, so that most places where ways meet are met after
// all ways have come there.
type pencil struct {
	effects
	an    *analysis
	entry uint64
	mode  cpu.Mode
	first uint64 // where the next function begins, as far as known
	limit uint64 // how far the function may reach
	cut   bool   // it ends where another one begins
	steps int

	rows    []sketchRow // as sketch has them
	made    bool
	summary summary
	frames  []frame
	nodes   []node       // in order of visit
	slots   []int32      // memory for those of a sketch, and
	code    []stretch    // for these
	todo    []waypoint   // by address, the lowest last
	seen    addressSet   // instructions that were visited
	drawn   addressSet   // bytes of nodes, while filling gaps
	leaving addressSet   // and of those with nodeLeaves
	stop    uint32       // nothing needs a look before this place
	cur     frame        // before the instruction at hand
	kept    frame        // where a call is not made
	same    bool         // cur is frames[last]
	last    uint32       // the latest frame of cur
	rowed   uint32       // the frame of the latest row
	open    []uint32     // frames at jumps to unknown places
	gap     bool         // following what lies between the known blocks
	weak    cpu.RegSet   // bases that different ways leave with different values
	watched cpu.RegSet   // tracked, and PC
	unused  cpu.RegSet   // what they hold on entry no function uses
	buf     [16]cpu.Insn // decoded: buf[:n], from pc on
	i, n    int          // p stands at buf[i]
	pc      uint64
}

// node is a run of instructions without a way in or out but at its ends.
type node struct {
	start, end  uint32 // relative to the entry
	next, taken uint32 // where it goes on, nowhere if none
	flags       nodeFlags
}

const nowhere = ^uint32(0)

type nodeFlags uint8

const (
	nodeExit   nodeFlags = 1 << iota // leaves for the caller
	nodeOpen                         // a jump within the function to places that are not known
	nodeGap                          // taken for one of these places
	nodeLeaves                       // some way from it leads to an exit
)

// waypoint is a place to go on from, with the frame there.
type waypoint struct {
	at, frame uint32
}

func newPencil(an *analysis) *pencil {
	e := newEffects(an.img)
	return &pencil{effects: e, an: an, watched: e.tracked.With(e.arch.PC), unused: e.arch.Preserved &^ e.arch.Globals}
}

// draw makes the sketch of the function at entry, nil if it cannot.
func (p *pencil) draw(entry uint64, mode cpu.Mode) *sketch {
	if p.an.startsImage(entry, mode) {
		return nil
	}
	if p.mode != mode {
		p.i, p.n = 0, 0
	}
	p.entry, p.mode, p.weak, p.cut = entry, mode, 0, false
	p.bounds()
	p.bases = cpu.SetOf(p.arch.SP, p.arch.FP)
	for range maxRedraws {
		weak := p.weak
		if p.attempt() {
			p.settle()
			return p.finished()
		}
		switch {
		case p.weak != weak:
		case p.refused:
			p.bases = p.arch.Preserved.With(p.arch.SP)
		case p.cut || p.entry+uint64(p.seen.used)*64 <= p.first:
			return nil
		default:
			p.cut = true
		}
	}
	return nil
}

// bounds finds out how far the function may reach: some of the entries behind it
// may be false ones.
func (p *pencil) bounds() {
	p.first = p.an.nextEntry(p.entry, p.entry)
	p.limit = p.first
	for range near {
		p.limit = p.an.nextEntry(p.limit, p.entry)
	}
	p.limit = min(p.limit, p.entry+maxSpan)
}

// attempt does so once. It fails with more registers in weak where another attempt
// may succeed.
func (p *pencil) attempt() bool {
	p.rows, p.frames, p.nodes, p.todo, p.open = p.rows[:0], p.frames[:0], p.nodes[:0], p.todo[:0], p.open[:0]
	p.seen.reset()
	p.steps, p.gap, p.made, p.refused, p.summary = 0, false, false, false, summary{}
	p.cur.entered(p.arch, p.tracked)
	p.frames = append(p.frames, p.cur)
	p.todo = append(p.todo, waypoint{0, 0})
	return p.drain() && p.fillGaps()
}

func (p *pencil) drain() bool {
	for len(p.todo) > 0 {
		t := p.todo[len(p.todo)-1]
		p.todo = p.todo[:len(p.todo)-1]
		p.cur, p.last, p.same = p.frames[t.frame], t.frame, true
		if !p.run(t.at) {
			return false
		}
	}
	return true
}

// fillGaps takes what lies between the known blocks for the targets of the jumps
// that could not be followed. That a frame fits at both ends is no coincidence; where
// one does not, the jumps lead to what the sketch knows nothing of (alloca). Where
// there is no frame, as at the labels of a computed goto, everything fits: nothing is
// taken for a target then.
func (p *pencil) fillGaps() bool {
	framed := false
	for _, i := range p.open {
		f := &p.frames[i]
		if !f.equal(&p.frames[p.open[0]]) {
			return false
		}
		framed = f.off[p.arch.SP] != 0
	}
	p.gap = true
	return !framed || p.fill()
}

func (p *pencil) fill() bool {
	limit := p.first
	if next := p.an.nextPointer(p.entry); next < limit {
		limit = next
	}
	p.drawn.reset()
	for i := range p.nodes {
		p.drawn.addAll(p.nodes[i].start, p.nodes[i].end)
	}
	at := uint32(0)
	for range maxSketched {
		at = p.drawn.without(at)
		pc := p.an.skipPadding(p.entry+uint64(at), p.mode)
		if pc >= limit {
			return true
		}
		if at = uint32(pc - p.entry); p.seen.has(at) {
			continue
		}
		p.todo = append(p.todo, waypoint{at, p.open[0]})
		if !p.drain() {
			return false
		}
	}
	return true
}

// edge brings the frame at hand to a place of the function.
func (p *pencil) edge(at uint32) bool {
	if p.seen.has(at) {
		return p.holdsAt(at)
	}
	p.intern()
	i, found := p.waypoint(at)
	if !found {
		p.stop = min(p.stop, at)
		p.todo = slices.Insert(p.todo, i, waypoint{at, p.last})
		return true
	}
	if p.todo[i].frame == p.last {
		return true
	}
	met := p.frames[p.todo[i].frame]
	met.meet(&p.cur)
	if !met.derived.Has(p.arch.SP) {
		return false
	}
	if !met.equal(&p.frames[p.todo[i].frame]) {
		p.todo[i].frame = uint32(len(p.frames))
		p.frames = append(p.frames, met)
	}
	return true
}

// holdsAt tells whether all that is known at a visited place holds in the frame at
// hand.
func (p *pencil) holdsAt(at uint32) bool {
	i, exact := p.rowAt(at)
	if !exact {
		i--
	}
	was := &p.frames[p.rows[i].frame]
	differ := was.differ(&p.cur)
	if was.homeless(&p.cur) != 0 || differ.Has(p.arch.SP) {
		return false
	}
	p.weak |= differ
	return differ == 0
}

func (p *pencil) rowAt(at uint32) (int, bool) {
	if n := len(p.rows); n > 0 && p.rows[n-1].at < at {
		return n, false
	}
	return slices.BinarySearchFunc(p.rows, at, func(r sketchRow, at uint32) int { return cmp.Compare(r.at, at) })
}

// intern makes last the number of the frame at hand.
func (p *pencil) intern() {
	if p.same {
		return
	}
	if p.cur.derived &^= p.weak; !p.cur.equal(&p.frames[p.last]) {
		p.last = uint32(len(p.frames))
		p.frames = append(p.frames, p.cur)
	}
	p.same = true
	p.made = p.made || p.cur.off[p.arch.SP] != 0
}

// row notes that the frame at hand holds from a place on; always: even where the row
// before says the same.
func (p *pencil) row(at uint32, always bool) {
	p.intern()
	if p.last == p.rowed && !always {
		return
	}
	p.rowed = p.last
	i, exact := p.rowAt(at)
	switch {
	case exact:
		p.rows[i].frame = p.last
	case i == len(p.rows):
		p.rows = append(p.rows, sketchRow{at, p.last})
	default:
		p.rows = slices.Insert(p.rows, i, sketchRow{at, p.last})
	}
}

// finished is the sketch that has been drawn.
func (p *pencil) finished() *sketch {
	s := &sketch{entry: p.entry, rows: slices.Clone(p.rows), frames: make([]sketchFrame, len(p.frames)), made: p.made, summary: p.summary}
	p.slots, p.code = p.slots[:0], p.code[:0]
	for i := range p.frames {
		f := &p.frames[i]
		s.frames[i] = sketchFrame{f.kept, f.saved, f.off[p.arch.SP], uint32(len(p.slots))}
		for set := f.saved; set != 0; set &= set - 1 {
			p.slots = append(p.slots, f.slot[set.First()])
		}
	}
	for at := p.leaving.next(0); at != nowhere; at = p.leaving.next(p.code[len(p.code)-1].end) {
		p.code = append(p.code, stretch{at, p.leaving.without(at)})
	}
	s.slots, s.code = slices.Clone(p.slots), slices.Clone(p.code)
	return s
}

// settle finds out which nodes lead to an exit.
func (p *pencil) settle() {
	p.leaving.reset()
	p.spread()
	open := false
	for i := range p.nodes {
		open = open || p.nodes[i].flags&(nodeGap|nodeLeaves) == nodeGap|nodeLeaves
	}
	if !open {
		return
	}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.flags&nodeOpen != 0 {
			n.flags |= nodeExit
		}
	}
	p.spread()
}

// spread carries nodeLeaves against the direction of control.
func (p *pencil) spread() {
	for again := true; again; {
		again = false
		for i := len(p.nodes) - 1; i >= 0; i-- {
			n := &p.nodes[i]
			if n.flags&nodeLeaves == 0 && (n.flags&nodeExit != 0 || p.leaving.has(n.next) || p.leaving.has(n.taken)) {
				n.flags |= nodeLeaves
				p.leaving.addAll(n.start, n.end)
				again = true
			}
		}
	}
}

// addressSet is a set of offsets from an entry.
type addressSet struct {
	bits []uint64
	used int // words that may hold something
}

func (s *addressSet) reset() {
	clear(s.bits[:s.used])
	s.used = 0
}

func (s *addressSet) has(at uint32) bool {
	return int(at/64) < s.used && s.bits[at/64]>>(at%64)&1 != 0
}

func (s *addressSet) add(at uint32) {
	if int(at/64) >= s.used {
		s.reach(at)
	}
	s.bits[at/64] |= 1 << (at % 64)
}

func (s *addressSet) reach(at uint32) {
	for int(at/64) >= len(s.bits) {
		s.bits = append(s.bits, make([]uint64, len(s.bits)+64)...)
	}
	s.used = max(s.used, int(at/64)+1)
}

// addAll adds lo ≤ at < hi.
func (s *addressSet) addAll(lo, hi uint32) {
	s.reach(hi)
	for ; lo < hi; lo = lo&^63 + 64 {
		some := ^uint64(0) << (lo % 64)
		if hi-lo&^63 < 64 {
			some &= 1<<(hi%64) - 1
		}
		s.bits[lo/64] |= some
	}
}

// without is the first place from at on that is not in the set.
func (s *addressSet) without(at uint32) uint32 {
	for int(at/64) < s.used {
		if rest := ^s.bits[at/64] >> (at % 64); rest != 0 {
			return at + uint32(bits.TrailingZeros64(rest))
		}
		at = at&^63 + 64
	}
	return at
}

// next is the first place from at on that is in the set, nowhere if none is.
func (s *addressSet) next(at uint32) uint32 {
	for int(at/64) < s.used {
		if rest := s.bits[at/64] >> (at % 64); rest != 0 {
			return at + uint32(bits.TrailingZeros64(rest))
		}
		at = at&^63 + 64
	}
	return nowhere
}
