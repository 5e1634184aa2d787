package rules

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
)

// Relation tells whether two rules recover the same values at one place. Unknown: they are
// stated over different registers, and nothing relates these.
type Relation struct {
	CFA, RA stackwalk.Answer
	// Regs holds for the registers of Arch.Preserved that both rules give, or that one rule
	// leaves alone. Unknown: some such register cannot be decided.
	Regs stackwalk.Answer
}

// Compare relates two rules for the place of q, from whatever sources. Rules over the same
// registers compare by their offsets. sp+16 and fp+8 compare by what the code from entry to
// the place makes of sp and fp: entry is where a table says that the function begins, in
// image addresses, and the entries that the analysis knows itself are tried next. The code
// need not begin a function there: what is the same from any point of the way is the same.
func Compare(an *dataflow.Analysis, q *stackwalk.Query, entry uint64, a, b *stackwalk.Rule) Relation {
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
	a, b *stackwalk.Rule
}

func (c *comparison) open() bool {
	return c.CFA == stackwalk.Unknown || c.RA == stackwalk.Unknown || c.Regs == stackwalk.Unknown
}

// byText compares what stands in the rules.
func (c *comparison) byText() {
	c.CFA = sameText(&c.a.CFA, &c.b.CFA)
	c.RA = sameText(slotRule(c.a, &c.a.RA), slotRule(c.b, &c.b.RA))
	c.Regs = stackwalk.Yes
	for s := c.arch.Preserved; s != 0; s = s.Without(s.First()) {
		x, y := c.registerRules(s.First())
		c.Regs = weaker(c.Regs, sameText(slotRule(c.a, &x), slotRule(c.b, &y)))
	}
	if c.CFA == stackwalk.No { // slots relative to different CFAs say nothing
		c.RA, c.Regs = stackwalk.No, stackwalk.No
	}
}

// registerRules are what both say of a register, in one form.
func (c *comparison) registerRules(r cpu.Reg) (x, y stackwalk.RegRule) {
	x, y = c.a.Of(r), c.b.Of(r)
	for _, rr := range []*stackwalk.RegRule{&x, &y} {
		if rr.Kind == stackwalk.Unspecified || rr.Kind == stackwalk.SameValue {
			*rr = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: r, Base: r}
		}
	}
	return x, y
}

// slotRule restates a slot that is given by the CFA's own register.
func slotRule(r *stackwalk.Rule, rr *stackwalk.RegRule) *stackwalk.RegRule {
	out := *rr
	if out.Kind == stackwalk.SameValue {
		out.Kind, out.Off = stackwalk.RegPlus, 0
	}
	if out.Kind == stackwalk.Undefined {
		out.Base, out.Off = cpu.NoReg, 0
	}
	overCFA(&out, &r.CFA)
	return &out
}

// sameText compares rules of one kind and register; those of different kinds may be the
// same all the same.
func sameText(a, b *stackwalk.RegRule) stackwalk.Answer {
	if a.Kind != b.Kind || a.Kind == stackwalk.Unspecified {
		return stackwalk.Unknown
	}
	switch a.Kind {
	case stackwalk.RegPlus, stackwalk.AtReg:
		if a.Base != b.Base {
			return stackwalk.Unknown
		}
	case stackwalk.Expression, stackwalk.ValExpression:
		if string(a.Expr) != string(b.Expr) {
			return stackwalk.Unknown
		}
	}
	if a.Off == b.Off && a.Add == b.Add {
		return stackwalk.Yes
	}
	return stackwalk.No
}

// weaker joins answers: one No refutes all, one Unknown leaves them open.
func weaker(a, b stackwalk.Answer) stackwalk.Answer {
	switch {
	case a == stackwalk.No || b == stackwalk.No:
		return stackwalk.No
	case a == stackwalk.Unknown || b == stackwalk.Unknown:
		return stackwalk.Unknown
	}
	return stackwalk.Yes
}

// byStates evaluates both rules in the states that lead to the place.
func (c *comparison) byStates(an *dataflow.Analysis, q *stackwalk.Query, entry uint64) {
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
	if c.CFA == stackwalk.Unknown {
		c.CFA = sameValue(x, y, false)
	}
	if c.CFA != stackwalk.Yes {
		return
	}
	if x.Kind == absint.Unknown {
		x = y
	}
	entered := x == absint.StartOf(c.arch.SP).Plus(c.arch.EntryCFA)
	same := func(a, b *stackwalk.RegRule) stackwalk.Answer {
		return sameValue(evaluate(st, a, x, c.arch), evaluate(st, b, x, c.arch), entered)
	}
	if c.RA == stackwalk.Unknown {
		c.RA = same(&c.a.RA, &c.b.RA)
	}
	if c.Regs != stackwalk.Unknown {
		return
	}
	c.Regs = stackwalk.Yes
	for s := c.arch.Preserved; s != 0; s = s.Without(s.First()) {
		ra, rb := c.registerRules(s.First())
		if sameText(slotRule(c.a, &ra), slotRule(c.b, &rb)) != stackwalk.Yes {
			c.Regs = weaker(c.Regs, same(&ra, &rb))
		}
	}
}

// sameValue compares two values over the same start. Values of different kinds, such as
// what a slot held and what a register did, can be the same unless the start is the
// function's entry.
func sameValue(a, b absint.Value, entered bool) stackwalk.Answer {
	switch {
	case a.Kind == absint.Unknown || b.Kind == absint.Unknown:
		return stackwalk.Unknown
	case a == b:
		return stackwalk.Yes
	case entered || a.Kind == absint.StartRelative && b.Kind == absint.StartRelative && a.Base == b.Base:
		return stackwalk.No
	}
	return stackwalk.Unknown
}
