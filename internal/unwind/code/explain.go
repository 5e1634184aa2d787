package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
)

// Explanation is how code analysis came to its answers for one place. Addresses are image
// addresses.
type Explanation struct {
	// Forward are the derivations from function entries, in the order of trial.
	Forward []Forward
	// Exits are the derivations from the ways out.
	Exits []Exit
	// Rules are the answers in the order in which the walker gets them.
	Rules []stackwalk.Rule
	// ABI is the rule by the ABI document's method, if HasABI. The walker gets that rule last, unless
	// another derivation has the same rule.
	ABI    stackwalk.Rule
	HasABI bool
	// Outermost: the place belongs to the code that the program starts with.
	Outermost bool
}

// Forward is a derivation from one entry.
type Forward struct {
	Entry uint64
	// Origin says how the entry is known: "known" by a symbol, a table or a direct call,
	// "pointed" to by data or code, "jumped" from far away, "guessed" from where the
	// code before ends.
	Origin string
	// End is the end of the run of code around the entry, Blocks how many basic blocks
	// were reached.
	End    uint64
	Blocks int
	// Reached: control from the entry comes to the place.
	Reached bool
	// Complete: every path was followed to its end. Balanced: a path returns with the
	// frame undone. Unbalanced: one returns otherwise, so that the entry is doubtful.
	Complete, Balanced, Unbalanced bool
	// Rule is what the derivation yields, if HasRule.
	Rule    stackwalk.Rule
	HasRule bool
}

// Exit is a derivation from one way out.
type Exit struct {
	Rule stackwalk.Rule
	// Calls is how many calls the way falls through; Tail: it ends in a tail call.
	Calls int
	Tail  bool
	// Confirmed: a forward derivation says the same.
	Confirmed bool
}

// Explain derives the answers for a place and tells all that the search tried.
func (s *Source) Explain(q *stackwalk.Query) (e Explanation) {
	p := s.of(q.Image)
	at, ok := rules.PointOf(p.Code, q)
	if !ok {
		return e
	}
	found := p.search(q)
	for _, a := range found.tried {
		e.Forward = append(e.Forward, a.explain())
	}
	for i := range found.ways {
		w := &found.ways[i]
		e.Exits = append(e.Exits, Exit{Rule: w.rule, Calls: w.Calls, Tail: w.Tail, Confirmed: w.confirmed})
	}
	r := found.result()
	e.Rules, e.Outermost = r.rules, r.outermost
	var first stackwalk.Rule
	if p.proven(q, &first) {
		e.Rules = putFirst(e.Rules, &first, p.Arch)
	}
	e.HasABI = rules.ABI(p.Flows, at, &e.ABI)
	return e
}

func (a *attempt) explain() Forward {
	f := a.fn
	w := Forward{Entry: f.Entry.PC, Origin: a.how.String(), End: f.ContiguousEnd(), Blocks: f.Blocks(), Reached: a.reached,
		Complete: f.Complete, Balanced: f.Balanced, Unbalanced: f.Unbalanced}
	if a.rule != nil {
		w.Rule, w.HasRule = *a.rule, true
	}
	return w
}

// Believed is the forward derivation behind the first answer, else the first that reaches
// the place, nil if none does.
func (e *Explanation) Believed(arch *cpu.Arch) *Forward {
	believed := func(f Forward) bool {
		return f.HasRule && len(e.Rules) > 0 && f.Rule.Equal(&e.Rules[0], arch.Preserved)
	}
	i := slices.IndexFunc(e.Forward, believed)
	j := slices.IndexFunc(e.Forward, func(f Forward) bool { return f.Reached })
	switch {
	case i >= 0:
		return &e.Forward[i]
	case j >= 0:
		return &e.Forward[j]
	}
	return nil
}

// Compare relates two rules for the place of q, see rules.Compare.
func (s *Source) Compare(q *stackwalk.Query, entry uint64, a, b *stackwalk.Rule) rules.Relation {
	return rules.Compare(s.of(q.Image).Flows, q, entry, a, b)
}

// Covers tells whether control comes from entry to the place of q without a call: not to a
// landing pad, which only an exception enters, and not to code whose way in is unknown.
func (s *Source) Covers(q *stackwalk.Query, entry uint64) bool {
	p := s.of(q.Image)
	at, ok := rules.PointOf(p.Code, q)
	var st absint.State
	return ok && at.StateIn(p.Flows.Function(disasm.Addr{PC: entry, Mode: at.Mode}), &st)
}

// FromEntry tells whether a rule follows from what the code does from entry, as from a function's, to the place of q.
// No: the CFA is taken from a register that still holds the caller's value, so that the caller is skipped. A part that was
// split off a function begins so, too, and changes registers that functions preserve.
func (s *Source) FromEntry(q *stackwalk.Query, entry uint64, rule *stackwalk.Rule) stackwalk.Answer {
	p := s.of(q.Image)
	at, ok := rules.PointOf(p.Code, q)
	var st absint.State
	var own stackwalk.Rule
	switch cfa := &rule.CFA; {
	case !ok || !at.StateIn(p.Flows.Function(disasm.Addr{PC: entry, Mode: at.Mode}), &st):
		return stackwalk.Unknown
	case rules.Agrees(&st, rule, p.Arch):
		return stackwalk.Yes
	case cfa.Kind == stackwalk.RegPlus && p.Arch.Preserved.Has(cfa.Base) && st.Get(cfa.Base).IsStartOf(cfa.Base):
		if own.Reset(); rules.FromState(&st, p.Arch, &own) && !rules.Undefines(&own) {
			return stackwalk.No
		}
	}
	return stackwalk.Unknown
}

// EntryMode tells the ISA mode of the function that begins at addr, where a symbol or a
// direct call says so: unwind tables do not.
func (s *Source) EntryMode(img *image.Image, addr uint64) (cpu.Mode, bool) {
	p := s.of(img)
	for mode := cpu.Mode(0); mode < 2; mode++ {
		if p.Entries.IsEntry(disasm.Addr{PC: addr, Mode: mode}) {
			return mode, true
		}
	}
	return 0, false
}

// PointedMode is EntryMode where pointers in data say so. Within a function data points to labels, and what
// looks like a pointer to such a place may be none: the function's beginning has to be known.
func PointedMode(s *Source, img *image.Image, addr uint64) (cpu.Mode, bool) {
	p := s.of(img)
	for mode := cpu.Mode(0); mode < 2; mode++ {
		if below := p.Entries.PointedBelow(disasm.Addr{PC: addr, Mode: mode}); len(below) > 0 && below[0] == addr {
			return mode, true
		}
	}
	return 0, false
}
