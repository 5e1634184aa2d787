package code

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/unwind"
)

// rank orders answers, the most believable first.
type rank uint8

const (
	// confirmed: a derivation from an entry that a way out confirms.
	confirmed rank = iota
	// entered: one from an entry that a symbol, table or direct call names, or a sound
	// one from a pointer.
	entered
	// sound: another one whose function stands on its own.
	sound
	// plainReturn: a way out that crosses no call.
	plainReturn
	// framed: one from a function that never returns but makes a frame: nothing undoes it.
	framed
	// uncontradicted: one that no return of its function speaks against.
	uncontradicted
	// anyReturn: another way out, which may not exist: a call on the way may not return.
	anyReturn
	// doubtful: one that every return of its function contradicts: no function begins at
	// the entry.
	doubtful
	// unranked: a landing pad taken for a function.
	unranked
)

// result is the outcome of a search.
type result struct {
	rules                 []unwind.Rule
	outermost, otherStack bool
	steps                 int // instructions executed
}

// result orders the answers: by rank, and of one rank in the order in which they were found.
func (s *search) result() result {
	r := result{outermost: s.outermost, otherStack: s.otherStack && len(s.forward) == 0, steps: s.steps}
	if r.otherStack {
		return r
	}
	s.dropLabels()
	s.demoteSwallowing()
	s.demoteMillicode()
	all := slices.Clone(s.forward)
	for _, c := range all {
		c.rank = c.forwardRank()
	}
	for i := range s.ways {
		if w := &s.ways[i]; !w.confirmed {
			all = append(all, &candidate{Rule: w.rule, rank: w.rank()})
		}
	}
	s.markUnopposed()
	slices.SortStableFunc(all, func(a, b *candidate) int { return cmp.Compare(a.rank, b.rank) })
	for _, c := range all {
		if c.rank < unranked && !contains(r.rules, &c.Rule, s.prog.Arch) {
			r.rules = append(r.rules, c.Rule)
		}
	}
	if s.oneEntry && len(r.rules) > len(s.forward) {
		r.rules = r.rules[:len(s.forward)]
	}
	return r
}

// markUnopposed says of derivations that no way out was found which could contradict them
// (no function loses a preserved register: what does was no function from its beginning),
// and takes for known the entry of a function that never returns, if a pointer leads there
// and all of its code was followed. A function that returns is known by its returns, which
// undo what it did: main, which _start passes on, may end in exit.
func (s *search) markUnopposed() {
	if len(s.ways) > 0 {
		return
	}
	for _, c := range s.forward {
		if c.fn == nil || rules.Undefines(&c.Rule) {
			continue
		}
		c.Flags |= unwind.NoReturn
		if c.how == pointed && c.fn.Complete && !c.fn.Returns && !c.fn.ReadsPreserved {
			c.Flags |= unwind.FromEntry
		}
	}
}

// forwardRank is the rank of a rule from an entry.
func (c *candidate) forwardRank() rank {
	switch {
	case c.Flags&unwind.Agreed != 0:
		return confirmed
	case c.Flags&unwind.FromEntry != 0:
		return entered
	case c.sound:
		return sound
	case c.begins():
		return framed
	case c.landingPad():
		return unranked
	case (c.fn == nil || !c.fn.Contradicted()) && (c.how == known || !rules.Undefines(&c.Rule)):
		return uncontradicted
	}
	return doubtful
}

// rank is that of a way out.
func (w *wayOut) rank() rank {
	if w.Calls == 0 && !w.Tail || w.Exception {
		return plainReturn
	}
	return anyReturn
}

// landingPad tells whether an answer takes a landing pad for a function: the code uses what
// its function left in registers (testl $0x8000,(%rbx), ends in _Unwind_Resume), and only
// the runtime comes there; or it calls with the stack as no function has it at a call. Its
// frame is that of a function that nothing here names.
func (c *candidate) landingPad() bool {
	return c.how != known && c.fn != nil && (c.fn.LandingPad || c.fn.CallsBare) && !c.fn.Balanced && !c.fn.FurtherEntry()
}

// begins tells whether the code begins like a function that never returns: nothing undoes
// its frame, but it makes one.
func (c *candidate) begins() bool { return c.fn != nil && c.fn.SavesRA && !c.fn.ReadsPreserved }

// demoteSwallowing takes the credit of a known entry from functions that come to the point
// only through the beginning of another sound one, by falling through a call: a call that
// never returns, and nothing said so.
func (s *search) demoteSwallowing() {
	for _, k := range s.forward {
		if k.how != known || k.fn == nil || k.Flags&unwind.Agreed != 0 {
			continue
		}
		for _, w := range s.forward {
			if w.fn != nil && w.fn != k.fn && w.sound && k.fn.FallsInto(w.fn.Entry.PC) {
				k.Flags, k.sound = k.Flags&^unwind.FromEntry, false
			}
		}
	}
}

// dropLabels drops derivations from places that another function reaches with its frame in
// place: labels of a jump table or a computed goto, whose addresses data holds just like
// those of functions.
func (s *search) dropLabels() {
	s.forward = slices.DeleteFunc(s.forward, func(c *candidate) bool {
		return c.how != known && c.fn != nil && slices.ContainsFunc(s.forward, func(o *candidate) bool { return o.holds(c) })
	})
}

// holds tells whether c is a label within the function of o.
func (o *candidate) holds(c *candidate) bool {
	whole := o.sound || o.begins() && !c.fn.SavesRA || o.fn != nil && !c.sound && !o.fn.Unbalanced && !o.fn.ReadsPreserved
	return whole && o.fn != c.fn && o.fn != nil && o.fn.FramedAt(c.fn.Entry.PC)
}
