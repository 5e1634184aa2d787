package stackwalk

import "github.com/backsight/backsight/unwind"

// crossCheck compares what call frame information says of an exact frame with what
// the code says. Tables are made for call sites first: clang before 15 writes none
// of AArch64's prologues and epilogues into them, so that in
//
//	4007a0  str  x29,[sp,#-32]!
//	4007a4  stp  x30,x28,[sp,#16]
//	4007a8  mov  x29,sp            ◄─ PC; the table already says CFA = x29 + 32
//
// the return address is right, in its register, but the CFA is one frame off, and
// with it everything above. Where the two differ, the frame by code is taken if more speaks for
// the code (outvotes), or if only that frame leads on. Example: glibc's table for RISC-V has one
// row for all of _dl_runtime_resolve, which lowers SP by 144. The table's frame is kept if only the
// table's frame leads on, whatever the code says. Example: code analysis that missed where a
// function set rbp up ended walks through libgcc's unwinder. Otherwise the table's frame is kept,
// and is not certain. Where the stack was switched, no rule found the frame, and code does not tell the CFA.
func (f *finder) crossCheck(r *search) {
	table := &r.best
	if !table.valid || table.end || table.Switched || table.method != unwind.MethodCFI || table.trust < unwind.Likely {
		return
	}
	if f.unchecked {
		if r.frame.Exact {
			table.limit(unwind.Likely, unwind.CapUnchecked)
		}
		return
	}
	several := f.verifier.starts.ofSeveral(r.frame, table)
	if !r.frame.Exact && !several {
		return
	}
	src := ruleSource(f.lists.all, unwind.MethodCode)
	if src == nil || f.verifier.isAhead {
		return
	}
	if f.account.starved {
		table.limit(unwind.Likely, unwind.CapUnchecked)
		return
	}
	before := f.query.Cost
	defer func() { f.account.cost += f.query.Cost - before }()
	rule, found := f.ruleByCode(src, r, several)
	byReturn := found && f.returnsByLink(r.frame, table)
	sure := byReturn || found && rule.Flags&(FromEntry|Straight|OfCaller) != 0
	if !sure && (!several || !found) {
		f.unconfirmed(r, several)
		return
	}
	second := search{frame: r.frame, stop: r.stop}
	f.tryRule(unwind.MethodCode, rule, &second)
	code := &second.best
	if code.valid && code.pc == table.pc && code.CFA == table.CFA {
		table.checks |= unwind.MethodsAgree | code.checks&unwind.FrameSize
		return
	}
	if !sure {
		f.unconfirmed(r, several)
		return
	}
	outvoted := code.valid && (byReturn || f.outvotes(r.frame, code, rule.Flags, table) && !f.leadsOn(r.frame, table, code))
	if outvoted || f.leadsOn(r.frame, code, table) {
		r.best, r.stop = *code, second.stop
		if several && rule.Flags&(Agreed|Straight) != 0 {
			return // what a table says of several functions is no doubt about what one does and undoes, or does first
		}
	}
	r.dispute() // the code or the table is wrong
}

// ruleByCode is the code's first rule from the entry that the table states: to look for others takes a pass through the image, and is
// done only where the table describes several functions.
func (f *finder) ruleByCode(src RuleSource, r *search, several bool) (rule *Rule, found bool) {
	table := &r.best
	f.query.Try, f.query.Entry, f.query.HasEntry = 0, table.start, table.flags&StartStated != 0 && !several
	if entry, ok := f.verifier.starts.linked(r.frame, table); ok {
		f.query.Entry = entry
	}
	if f.codeRule == nil {
		f.codeRule = new(Rule)
	}
	f.codeRule.Reset()
	return f.codeRule, src.Rule(&f.query, f.codeRule) == unwind.Found
}

// unconfirmed weighs a table's frame of which the code says nothing that counts. What a description of
// several functions says is not certain then.
func (f *finder) unconfirmed(r *search, several bool) {
	table := &r.best
	if f.returnsByLink(r.frame, table) || f.query.HasEntry && f.verifier.graph != nil && f.verifier.graph.Abandons(&f.query) {
		r.dispute()
	} else if several {
		table.limit(unwind.Likely, unwind.CapUnchecked)
	}
}

// outvotes tells whether the code's frame is to be believed rather than the table's: the derivations
// from the known entry and from the ways out agree; or only a few instructions in a line lie
// between the entry and the PC, or the code there is part of its callers (OfCaller); or only
// the call before the code's frame is known to go to the function. flags are the flags of the code's rule.
func (f *finder) outvotes(s *State, code *candidate, flags RuleFlags, table *candidate) bool {
	return flags&Agreed != 0 || flags&(Straight|OfCaller) != 0 && f.verifier.starts.plain(s, table) ||
		code.pc != table.pc && code.checks.Proven() && !table.checks.Proven()
}

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
	return !c.valid || c.trust == unwind.Guess || c.end && c.trust < unwind.Certain
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
	if src.Rule(&f.query, &f.rule) != unwind.Found {
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

// callerProven tells whether the frame that c leads to is proven by its own caller. A rule
// that only infers the return address needs that proof. Example: AArch64's __longjmp
// overwrites the link register; its caller may be any function that calls __longjmp, and is
// the function whose own frame lies there.
func (f *finder) callerProven(s *State, c *candidate) bool {
	next := f.callerOf(s, c)
	return next.valid && next.trust == unwind.Certain && next.checks.Has(unwind.TargetMatches)
}

// callerOf is the caller of a candidate as far as the sources know, none where they are asked for
// such a caller already.
func (f *finder) callerOf(s *State, c *candidate) candidate {
	if f.verifier.isAhead {
		return candidate{}
	}
	r := f.searchFrom(s, c)
	return r.best
}

// searchFrom is the search for the caller of a candidate. It is not asked within such a search.
func (f *finder) searchFrom(s *State, c *candidate) search {
	if f.ahead == nil {
		f.ahead = new(lookahead)
		f.ahead.finder.init(&Options{CallGraph: f.verifier.graph}, f.lists)
		f.ahead.finder.verifier.isAhead = true
	}
	a := f.ahead
	a.frame = *s
	a.frame.Regs = &a.regs
	a.frame.enter(c)
	a.finder.account = f.account.after(s.Cost)
	r := a.finder.find(&a.frame)
	f.account.cost += r.cost
	return r
}
