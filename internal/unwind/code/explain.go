package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// Explanation is how code analysis came to its answers for one place. Addresses
// are image addresses.
type Explanation struct {
	// Forward are the derivations from function entries, in the order of trial.
	Forward []Forward
	// Exits are the derivations from the ways out.
	Exits []Exit
	// Rules are the answers in the order in which the walker gets them.
	Rules []unwind.Rule
	// ABI is what the ABI document's method answers, if HasABI; it is the last rule
	// unless it is among the others.
	ABI    unwind.Rule
	HasABI bool
	// Outermost: the place belongs to the code that the program starts with.
	Outermost bool
}

// Forward is a derivation from one entry.
type Forward struct {
	Entry uint64
	// Origin says how the entry is known: "known" by a symbol, a table or a direct
	// call, "pointed" to by data or code, "jumped" from far away, "guessed" from where the code before ends.
	Origin string
	// End is the end of the run of code around the entry, Blocks how many basic
	// blocks were reached.
	End    uint64
	Blocks int
	// Reached: control from the entry comes to the place.
	Reached bool
	// Complete: every path was followed to its end. Balanced: a path returns with
	// the frame undone. Unbalanced: one returns otherwise, so that the entry is
	// doubtful.
	Complete, Balanced, Unbalanced bool
	// Rule is what it derives, if HasRule.
	Rule    unwind.Rule
	HasRule bool
}

// Exit is a derivation from one way out.
type Exit struct {
	Rule unwind.Rule
	// Calls is how many calls the way falls through; Tail: it ends in a tail call.
	Calls int
	Tail  bool
	// Confirmed: a forward derivation says the same.
	Confirmed bool
}

// Explain derives the answers for a place and keeps all that was on the way.
func (s *Source) Explain(q *unwind.Query) Explanation {
	an := s.of(q.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	var e Explanation
	p, ok := an.place(q)
	if !ok {
		return e
	}
	d := derivation{an: an, place: p, trace: func(f *function, how origin, reached bool, r *unwind.Rule) {
		w := Forward{Entry: f.entry, Origin: how.String(), End: f.contiguousEnd(), Blocks: len(f.blocks), Reached: reached,
			Complete: f.complete, Balanced: f.balanced, Unbalanced: f.unbalanced}
		if r != nil {
			w.Rule, w.HasRule = *r, true
		}
		e.Forward = append(e.Forward, w)
	}}
	l := d.derive(q)
	var r unwind.Rule
	if an.sketched(q, &r) {
		l.putFirst(&r, an.arch)
	}
	e.HasABI = an.abiRule(p, &e.ABI)
	e.Rules, e.Outermost = l.rules, l.end
	for i := range d.exits {
		x := &d.exits[i]
		e.Exits = append(e.Exits, Exit{Rule: x.rule, Calls: x.calls, Tail: x.tail, Confirmed: d.agreed[i]})
	}
	return e
}

// Believed is the forward derivation behind the first answer, else the first that
// reaches the place, nil if none does.
func (e *Explanation) Believed(arch *cpu.Arch) *Forward {
	var reached *Forward
	for i := range e.Forward {
		f := &e.Forward[i]
		if f.HasRule && len(e.Rules) > 0 && f.Rule.Equal(&e.Rules[0], arch.Preserved) {
			return f
		}
		if f.Reached && reached == nil {
			reached = f
		}
	}
	return reached
}

func (o origin) String() string { return [...]string{"known", "pointed", "jumped", "guessed"}[o] }
