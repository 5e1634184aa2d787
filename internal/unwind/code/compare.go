package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// Relation tells whether two rules recover the same values at one place. Unknown:
// they are stated over different registers, and nothing relates these.
type Relation struct {
	CFA, RA unwind.Answer
	// Regs holds for the registers of Arch.Preserved that both rules give or that
	// one leaves alone; Unknown where a single one of them cannot be decided.
	Regs unwind.Answer
}

// Compare relates two rules for the place of q, from whatever sources. Rules over
// the same registers compare by their offsets. sp+16 and fp+8 compare by what the
// code from entry to the place makes of sp and fp: entry is where a table says
// that the function begins, in image addresses, and the entries that the analysis
// knows itself are tried behind it. The code need not begin a function there: what
// is the same from any point of the way is the same.
func (s *Source) Compare(q *unwind.Query, entry uint64, a, b *unwind.Rule) Relation {
	an := s.of(q.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	c := comparison{an: an, a: a, b: b}
	c.byText()
	if c.open() {
		c.byStates(q, entry)
	}
	return c.Relation
}

// Covers tells whether control comes from entry to the place of q without a call:
// not to a landing pad, which only an exception enters, and not to code whose way
// in is unknown.
func (s *Source) Covers(q *unwind.Query, entry uint64) bool {
	an := s.of(q.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	p, ok := an.place(q)
	if !ok {
		return false
	}
	d := derivation{an: an, place: p}
	var st state
	return d.stateIn(an.function(entry, p.mode), &st)
}

// EntryMode tells the ISA mode of the function that begins at addr, where a
// symbol or a direct call says it: unwind tables do not.
func (s *Source) EntryMode(img *image.Image, addr uint64) (cpu.Mode, bool) {
	an := s.of(img)
	an.mu.Lock()
	defer an.mu.Unlock()
	for mode := cpu.Mode(0); mode < 2; mode++ {
		if an.isEntry(addr, mode) {
			return mode, true
		}
	}
	return 0, false
}

type comparison struct {
	Relation
	an   *analysis
	a, b *unwind.Rule
}

func (c *comparison) open() bool {
	return c.CFA == unwind.Unknown || c.RA == unwind.Unknown || c.Regs == unwind.Unknown
}

// byText compares what stands in the rules.
func (c *comparison) byText() {
	c.CFA = sameText(&c.a.CFA, &c.b.CFA)
	c.RA = sameText(c.slot(c.a, &c.a.RA), c.slot(c.b, &c.b.RA))
	c.Regs = unwind.Yes
	for s := c.an.arch.Preserved; s != 0; s = s.Without(s.First()) {
		x, y := c.rules(s.First())
		c.Regs = weaker(c.Regs, sameText(c.slot(c.a, &x), c.slot(c.b, &y)))
	}
	if c.CFA == unwind.No { // slots relative to different CFAs say nothing
		c.RA, c.Regs = unwind.No, unwind.No
	}
}

// rules are what both say of a register, in one form.
func (c *comparison) rules(r cpu.Reg) (x, y unwind.RegRule) {
	x, y = c.a.Of(r), c.b.Of(r)
	for _, rr := range []*unwind.RegRule{&x, &y} {
		if rr.Kind == unwind.Unspecified || rr.Kind == unwind.SameValue {
			*rr = unwind.RegRule{Kind: unwind.RegPlus, Reg: r, Base: r}
		}
	}
	return x, y
}

// slot restates a slot that is given by the CFA's own register.
func (c *comparison) slot(r *unwind.Rule, rr *unwind.RegRule) *unwind.RegRule {
	out := *rr
	if out.Kind == unwind.SameValue {
		out.Kind, out.Off = unwind.RegPlus, 0
	}
	if out.Kind == unwind.Undefined {
		out.Base, out.Off = cpu.NoReg, 0
	}
	toCFA(&out, &r.CFA)
	return &out
}

// sameText compares rules of one kind and register; those of different kinds may
// be the same all the same.
func sameText(a, b *unwind.RegRule) unwind.Answer {
	if a.Kind != b.Kind || a.Kind == unwind.Unspecified {
		return unwind.Unknown
	}
	switch a.Kind {
	case unwind.RegPlus, unwind.AtReg:
		if a.Base != b.Base {
			return unwind.Unknown
		}
	case unwind.Expression, unwind.ValExpression:
		if string(a.Expr) != string(b.Expr) {
			return unwind.Unknown
		}
	}
	return answer(a.Off == b.Off && a.Add == b.Add)
}

func answer(b bool) unwind.Answer {
	if b {
		return unwind.Yes
	}
	return unwind.No
}

// weaker joins answers: one No refutes all, one Unknown leaves them open.
func weaker(a, b unwind.Answer) unwind.Answer {
	switch {
	case a == unwind.No || b == unwind.No:
		return unwind.No
	case a == unwind.Unknown || b == unwind.Unknown:
		return unwind.Unknown
	}
	return unwind.Yes
}

// byStates evaluates both rules in the states that lead to the place.
func (c *comparison) byStates(q *unwind.Query, entry uint64) {
	p, ok := c.an.place(q)
	if !ok {
		return
	}
	d := derivation{an: c.an, place: p}
	var st state
	for _, e := range append([]uint64{entry}, c.an.entriesBelow(p.site, p.mode)...) {
		if d.stateIn(c.an.function(e, p.mode), &st) {
			c.inState(&st)
		}
		if !c.open() {
			return
		}
	}
}

func (c *comparison) inState(st *state) {
	m := newMachine(c.an.img)
	x, y := m.eval(st, &c.a.CFA, value{}), m.eval(st, &c.b.CFA, value{})
	if c.CFA == unwind.Unknown {
		c.CFA = sameValue(x, y, false)
	}
	if c.CFA != unwind.Yes {
		return
	}
	if x.kind == unknown {
		x = y
	}
	entered := x == startOf(m.arch.SP).plus(m.arch.EntryCFA)
	if c.RA == unwind.Unknown {
		c.RA = sameValue(m.eval(st, &c.a.RA, x), m.eval(st, &c.b.RA, x), entered)
	}
	if c.Regs != unwind.Unknown {
		return
	}
	c.Regs = unwind.Yes
	for s := c.an.arch.Preserved; s != 0; s = s.Without(s.First()) {
		ra, rb := c.rules(s.First())
		if sameText(c.slot(c.a, &ra), c.slot(c.b, &rb)) != unwind.Yes {
			c.Regs = weaker(c.Regs, sameValue(m.eval(st, &ra, x), m.eval(st, &rb, x), entered))
		}
	}
}

// sameValue compares two values over the same start. Values of different kinds,
// such as what a slot held and what a register did, can be the same unless the
// start is the function's entry.
func sameValue(a, b value, entered bool) unwind.Answer {
	switch {
	case a.kind == unknown || b.kind == unknown:
		return unwind.Unknown
	case a == b:
		return unwind.Yes
	case entered || a.kind == addr && b.kind == addr && a.base == b.base:
		return unwind.No
	}
	return unwind.Unknown
}
