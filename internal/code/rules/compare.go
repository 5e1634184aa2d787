package rules

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/unwind"
)

// Relation tells whether two rules recover the same values at one place. Unknown: they are
// stated over different registers, and nothing relates these.
type Relation struct {
	CFA, RA unwind.Answer
	// Regs holds for the registers of Arch.Preserved that both rules give, or that one rule
	// leaves alone. Unknown: some such register cannot be decided.
	Regs unwind.Answer
}

// Compare relates two rules for the place of q, from whatever sources. Rules over the same
// registers compare by their offsets. sp+16 and fp+8 compare by what the code from entry to
// the place makes of sp and fp: entry is where a table says that the function begins, in
// image addresses, and the entries that the analysis knows itself are tried next. The code
// need not begin a function there: what is the same from any point of the way is the same.
func Compare(an *dataflow.Analysis, q *unwind.Query, entry uint64, a, b *unwind.Rule) Relation {
	c := comparison{arch: an.Arch, a: a, b: b}
	c.byText()
	if c.open() {
		c.byStates(an, q, entry)
	}
	return c.Relation
}

type comparison struct {
	Relation
	arch *cpu.Arch
	a, b *unwind.Rule
}

func (c *comparison) open() bool {
	return c.CFA == unwind.Unknown || c.RA == unwind.Unknown || c.Regs == unwind.Unknown
}

// byText compares what stands in the rules.
func (c *comparison) byText() {
	c.CFA = sameText(&c.a.CFA, &c.b.CFA)
	c.RA = sameText(slotRule(c.a, &c.a.RA), slotRule(c.b, &c.b.RA))
	c.Regs = unwind.Yes
	for s := c.arch.Preserved; s != 0; s = s.Without(s.First()) {
		x, y := c.registerRules(s.First())
		c.Regs = weaker(c.Regs, sameText(slotRule(c.a, &x), slotRule(c.b, &y)))
	}
	if c.CFA == unwind.No { // slots relative to different CFAs say nothing
		c.RA, c.Regs = unwind.No, unwind.No
	}
}

// registerRules are what both say of a register, in one form.
func (c *comparison) registerRules(r cpu.Reg) (x, y unwind.RegRule) {
	x, y = c.a.Of(r), c.b.Of(r)
	for _, rr := range []*unwind.RegRule{&x, &y} {
		if rr.Kind == unwind.Unspecified || rr.Kind == unwind.SameValue {
			*rr = unwind.RegRule{Kind: unwind.RegPlus, Reg: r, Base: r}
		}
	}
	return x, y
}

// slotRule restates a slot that is given by the CFA's own register.
func slotRule(r *unwind.Rule, rr *unwind.RegRule) *unwind.RegRule {
	out := *rr
	if out.Kind == unwind.SameValue {
		out.Kind, out.Off = unwind.RegPlus, 0
	}
	if out.Kind == unwind.Undefined {
		out.Base, out.Off = cpu.NoReg, 0
	}
	overCFA(&out, &r.CFA)
	return &out
}

// sameText compares rules of one kind and register; those of different kinds may be the
// same all the same.
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
	if a.Off == b.Off && a.Add == b.Add {
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
func (c *comparison) byStates(an *dataflow.Analysis, q *unwind.Query, entry uint64) {
	p, ok := PointOf(an.Code, q)
	if !ok {
		return
	}
	var st absint.State
	for _, e := range append([]uint64{entry}, an.Entries.Below(p.SiteAddr())...) {
		if p.StateIn(an.Function(disasm.Addr{PC: e, Mode: p.Mode}), &st) {
			c.inState(&st)
		}
		if !c.open() {
			return
		}
	}
}

func (c *comparison) inState(st *absint.State) {
	x, y := evaluate(st, &c.a.CFA, absint.Value{}, c.arch), evaluate(st, &c.b.CFA, absint.Value{}, c.arch)
	if c.CFA == unwind.Unknown {
		c.CFA = sameValue(x, y, false)
	}
	if c.CFA != unwind.Yes {
		return
	}
	if x.Kind == absint.Unknown {
		x = y
	}
	entered := x == absint.StartOf(c.arch.SP).Plus(c.arch.EntryCFA)
	same := func(a, b *unwind.RegRule) unwind.Answer {
		return sameValue(evaluate(st, a, x, c.arch), evaluate(st, b, x, c.arch), entered)
	}
	if c.RA == unwind.Unknown {
		c.RA = same(&c.a.RA, &c.b.RA)
	}
	if c.Regs != unwind.Unknown {
		return
	}
	c.Regs = unwind.Yes
	for s := c.arch.Preserved; s != 0; s = s.Without(s.First()) {
		ra, rb := c.registerRules(s.First())
		if sameText(slotRule(c.a, &ra), slotRule(c.b, &rb)) != unwind.Yes {
			c.Regs = weaker(c.Regs, same(&ra, &rb))
		}
	}
}

// sameValue compares two values over the same start. Values of different kinds, such as
// what a slot held and what a register did, can be the same unless the start is the
// function's entry.
func sameValue(a, b absint.Value, entered bool) unwind.Answer {
	switch {
	case a.Kind == absint.Unknown || b.Kind == absint.Unknown:
		return unwind.Unknown
	case a == b:
		return unwind.Yes
	case entered || a.Kind == absint.StartRelative && b.Kind == absint.StartRelative && a.Base == b.Base:
		return unwind.No
	}
	return unwind.Unknown
}
