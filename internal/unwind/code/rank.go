package code

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
)

// rank orders answers, the most believable first.
type rank uint8

const (
	// confirmed: the rule from an entry and the rule of a way out are the same.
	confirmed rank = iota
	// agreed: the same, but of an entry that nothing names for sure, and some return undoes another frame than that entry makes.
	agreed
	// entered: the rule from an entry that a symbol, a table or a direct call names, or
	// the sound rule from an entry that a pointer leads to.
	entered
	// sound: the rule from any other entry, if the function's returns undo its frame.
	sound
	// plainReturn: the rule of a way out that crosses no call.
	plainReturn
	// framed: the rule from an entry whose function saves the return address and never
	// returns, so that no return can confirm or contradict the frame.
	framed
	// uncontradicted: the rule from an entry whose function has returns, none of which
	// contradicts the entry.
	uncontradicted
	// anyReturn: the rule of a way out that crosses a call, or on which SP is computed from registers. The way
	// may not exist, for the call may not return; SP may be that of a frame further out (__builtin_eh_return).
	anyReturn
	// doubtful: the rule from an entry that every return of the function contradicts: no
	// function begins there.
	doubtful
	// unranked: the rule from an entry that is a landing pad. The walker never sees
	// such a rule.
	unranked
)

// result is the outcome of a search: the rules for one program point, the most believable first.
type result struct {
	rules                 []stackwalk.Rule
	outermost, otherStack bool
	steps                 int // instructions executed
}

// result orders the rules by rank, and rules of the same rank in the order in which the search found them.
func (s *search) result() result {
	r := result{outermost: s.outermost, otherStack: s.otherStack && len(s.forward) == 0, steps: s.steps}
	if r.otherStack {
		return r
	}
	s.dropLabels()
	s.demoteMillicode()
	all := slices.Clone(s.forward)
	for _, c := range all {
		c.rank = c.forwardRank()
	}
	for i := range s.ways {
		if w := &s.ways[i]; !w.confirmed && !(s.prog.Img.Made && !w.holdsBehindCalls(s.prog.Arch)) {
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

// markUnopposed marks rules from entries with NoReturn where the search found no way out that
// could contradict the rule. A rule that loses a preserved register is left out: functions keep
// such registers, so that no function begins at the entry of that rule.
//
// An entry that a pointer leads to counts as known (FromEntry) if all of the function's code was
// followed and no path returns. Example: main, whose address _start passes to
// __libc_start_main, ends in a call of exit. Entries of functions that return are judged by the
// returns.
func (s *search) markUnopposed() {
	if len(s.ways) > 0 {
		return
	}
	for _, c := range s.forward {
		if c.fn == nil || rules.Undefines(&c.Rule) {
			continue
		}
		c.Flags |= stackwalk.NoReturn
		if c.how == pointed && c.fn.Complete && !c.fn.Returns && !c.fn.ReadsPreserved {
			c.Flags |= stackwalk.FromEntry
		}
	}
}

// forwardRank is the rank of a rule that was derived from an entry.
func (c *candidate) forwardRank() rank {
	switch {
	case c.Flags&stackwalk.Agreed != 0 && c.how != known && !c.sound:
		return agreed
	case c.Flags&stackwalk.Agreed != 0:
		return confirmed
	case c.Flags&stackwalk.FromEntry != 0:
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

// rank is the rank of the rule that a way out implies.
func (w *wayOut) rank() rank {
	if w.Calls == 0 && !w.Tail && len(w.Sum.Terms) == 0 || w.Exception {
		return plainReturn
	}
	return anyReturn
}

// landingPad tells whether the entry of a candidate is a landing pad of another function, where
// only the runtime of exceptions jumps to. Two kinds of code show that: reads of registers that
// the other function has set (testl $0x8000,(%rbx), and at the end a call of _Unwind_Resume), and
// calls on x86-64 with SP as it was at the entry, where the ABI wants another alignment. The frame
// there belongs to the other function, whose entry the candidate does not have.
func (c *candidate) landingPad() bool {
	return c.how != known && c.fn != nil && (c.fn.LandingPad || c.fn.CallsBare) && !c.fn.Balanced
}

// begins tells whether the code at the entry begins like a function: the return address is saved,
// and no preserved register is read before. Functions that never return are known by that alone.
func (c *candidate) begins() bool { return c.fn != nil && c.fn.SavesRA && !c.fn.ReadsPreserved }

// dropLabels drops candidates whose entry is a label within another candidate's function: the
// target of a jump table or of a computed goto. Data holds the addresses of such labels as it
// holds those of functions, but control reaches a label with the frame already made.
func (s *search) dropLabels() {
	s.forward = slices.DeleteFunc(s.forward, func(c *candidate) bool {
		return c.how != known && c.fn != nil && slices.ContainsFunc(s.forward, func(o *candidate) bool { return o.holds(c) })
	})
}

// holds tells whether the entry of c is a label within the function of o. The function of o must be
// trustworthy for that: sound, or making a frame where c makes none, or without anything that
// speaks against o while c is not sound.
func (o *candidate) holds(c *candidate) bool {
	whole := o.sound || o.begins() && !c.fn.SavesRA || o.fn != nil && !c.sound && !o.fn.Unbalanced && !o.fn.ReadsPreserved
	return whole && o.fn != c.fn && o.fn != nil && o.fn.FramedAt(c.fn.Entry.PC)
}
