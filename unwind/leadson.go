package unwind

// leadsOn tells whether a is the caller of s rather than b: a's frame is proven by its own caller, while
// b's frame ends the walk. A rule with the wrong CFA, or from the wrong slot, leads to a frame whose rule finds
// no call of that frame's function. That only a's frame is proven would not be enough: a table without
// epilogues, as clang's for macOS, leads past the caller to a frame that is proven just as well, while the
// true caller may have called through a pointer and prove nothing.
func (f *finder) leadsOn(s *State, a, b *candidate) bool {
	if !a.valid || a.end || !b.valid {
		return false
	}
	next := f.callerOf(s, b)
	return next.leadsNowhere() && f.callerProven(s, a)
}

// leadsNowhere tells whether c is no caller, and does not say for sure either that the stack ends.
func (c *candidate) leadsNowhere() bool {
	return !c.valid || c.trust == Guess || c.end && c.trust < Certain
}

// otherSlot takes the return address of a second slot, where two held it and that slot's alone is
// proven: the call before it goes to the callee, and the frame leads on. In libgcc for ARM the
// registers that _Unwind_RaiseException pushed are those of the frame that the unwinder has come
// to: lr is where that frame's caller returns to as soon as the frame is unwound, while pc still
// is the return address in the frame itself.
//
//	mov ip,sp; push {lr}; push {ip,lr}; push {r0-r12}; …; add r1,sp,#4
//	bl  __gnu_Unwind_RaiseException    ◄─ pc, lr in the frame
//	ldr lr,[sp,#64]; add sp,#72; bx lr
func (f *finder) otherSlot(src RuleSource, r *search) {
	if f.rule.Flags&SavedTwice == 0 || r.best.checks.Proven() || f.verifier.isAhead {
		return
	}
	f.query.Try++
	f.rule.Reset()
	if src.Rule(&f.query, &f.rule) != Found {
		return
	}
	second := search{frame: r.frame, stop: r.stop}
	f.tryRule(src.Method(), &f.rule, &second)
	if !second.best.valid || !second.best.checks.Proven() || !f.callerProven(r.frame, &second.best) {
		return
	}
	r.best, r.stop = second.best, second.stop
	r.dispute()
}
