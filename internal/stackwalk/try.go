package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/unwind"
)

// tryRule applies a rule, verifies the caller that the rule yields, and offers that caller
// as a candidate. It returns the evidence; applied is false where the rule could not be
// applied or yields no caller.
func (f *finder) tryRule(m unwind.Method, rule *Rule, r *search) (e evidence, applied bool) {
	s, arch := r.frame, f.query.Arch
	c := newCandidate(m, rule)
	res, oc := evaluate.Rule(arch, rule, s.Regs, s.Snapshot.Memory, s.Snapshot.CodeMask, &c.Regs)
	switch oc {
	case evaluate.Applied:
	case evaluate.RuleEnds:
		if f.verifier.withinStart(s, rule) {
			f.explain.declined(s, m, f.query.Try, rule, "the function that ends the stack ends before this place")
			return e, false
		}
		f.explain.verdict(s, m, f.query.Try, unwind.EndOfStack)
		r.end(m)
		return e, false
	case evaluate.MissingMemory:
		f.unread(&c, rule, &res, r)
		f.explain.declined(s, m, f.query.Try, rule, "memory was not captured")
		return e, false
	default:
		r.untried = r.untried || basisOf(m) != byConvention && rule.Flags&Fallback == 0
		f.explain.declined(s, m, f.query.Try, rule, "a register it needs is unknown")
		return e, false
	}
	if why := refused(s, rule, res.CFA); why != "" {
		f.explain.declined(s, m, f.query.Try, rule, why)
		return e, false
	}
	c.CFA, c.HasCFA, c.raw = res.CFA, true, res.PC
	c.Exact = rule.Flags&SignalFrame != 0
	if rule.CFA.Kind == RegPlus && rule.CFA.Base == arch.SP {
		c.checks |= unwind.FrameSize
		if s.atLeast && basisOf(m) == inTable && placesReturn(m, rule) {
			s.floor = max(s.floor, (res.CFA+uint64(rule.RA.Off))&arch.AddrMask())
		}
	}
	f.tryShadow(c, m, rule, r)
	if basisOf(m) == inTable && savesArguments(rule, arch) && f.abandons(rule) {
		c.flags |= Abandoned
	}
	if rule.Flags&ExceptionFrame != 0 {
		f.tryException(&c, rule, r)
		return c.evidence, true
	}
	if arch.CallPushesRA && f.verifier.trampolines.endAt(s, res.CFA-uint64(arch.RegSize)) {
		f.offerEnd(&c, rule, r, unwind.StopRoot, "the kernel was entered with these registers")
		return e, false
	}
	if reason, why := leadsNowhere(arch, rule, res.PC); why != "" {
		f.tryEnd(&c, rule, r, reason, why)
		return e, false
	}
	f.verify(&c, rule, r)
	return c.evidence, true
}

// unread notes what a rule lacks that could not be applied because memory was not captured, and where the frame of c, the caller, lies
// if the rule tells.
func (f *finder) unread(c *candidate, rule *Rule, res *evaluate.Result, r *search) {
	s, m := r.frame, c.method
	if r.stop.Reason != unwind.StopUnreadable && (basisOf(m) != byConvention || !r.refuted && s.mayBeFurtherOut(res.Addr)) {
		r.stop = unwind.Stop{Reason: unwind.StopUnreadable, Addr: res.Addr} // what the surest of the sources lacks
	}
	if !placesReturn(m, rule) {
		return
	}
	r.beyond = true
	c.CFA, c.HasCFA = res.CFA, true
	c.Regs.Set(f.query.Arch.SP, res.CFA)
	keepPreserved(&c.Regs, s.Regs, rule, f.query.Arch)
	keepUnwritten(&c.Regs, s, f.verifier.graph)
	f.lose(c, r, false)
}

// tryEnd offers the end of the stack at a return address that leads nowhere, unless the stack pointer is but a lower bound.
func (f *finder) tryEnd(c *candidate, rule *Rule, r *search, reason unwind.StopReason, why string) {
	s := r.frame
	if reason == unwind.StopNullPC && s.atLeast && (r.refuted || c.checks.Has(unwind.FrameSize)) {
		s.above = true
		f.explain.declined(s, c.method, f.query.Try, rule, "no return address lies there: the stack pointer is a lower bound")
		return
	}
	if reason == unwind.StopNullPC && s.atStackEnd(c.CFA) {
		reason = unwind.StopRoot
	}
	r.damaged = r.damaged || reason == unwind.StopNullPC && agreedOn(c.method, rule)
	f.offerEnd(c, rule, r, reason, why)
}

// refused says why a rule's caller, with a CFA, is none whatever the return address is; "" where nothing tells.
func refused(s *State, rule *Rule, cfa uint64) string {
	switch {
	case raBelowSP(s, rule, cfa):
		return "the return address would lie below the stack pointer"
	case byLink(s.Snapshot.Arch, rule) && s.LinkSpent():
		return "the link register is left over from the call before"
	}
	return ""
}

// mayBeFurtherOut tells whether an address may be one of the stack above the frame. A frame pointer that leads elsewhere is none:
// Windows' code for x86-64 has any value there.
func (s *State) mayBeFurtherOut(addr uint64) bool {
	sp, ok := s.Regs.Lookup(s.Snapshot.Arch.SP)
	_, inModule := s.Snapshot.ModuleAt(addr)
	return ok && addr >= sp&s.Snapshot.Arch.AddrMask() && !inModule
}

// placesReturn tells whether a rule says for sure at which distance from a register the return
// address lies. Example: the report of an oops on MIPS prints 40 words of the stack, and the return
// address of proc_reg_write lies behind them; what a search would find before is left over from
// calls that have returned.
func placesReturn(m unwind.Method, rule *Rule) bool {
	return isSound(m, rule) && rule.CFA.Kind == RegPlus && rule.RA.Kind == AtCFA
}

// isSound tells whether a rule of a method is a table's, or follows from a function's entry.
func isSound(m unwind.Method, rule *Rule) bool {
	sound := basisOf(m) == inTable || m == unwind.MethodCode && rule.Flags&(FromEntry|Agreed) != 0
	return sound && rule.Flags&(Fallback|Inferred) == 0
}

// agreedOn tells whether two derivations from the function's entry agree on a rule.
func agreedOn(m unwind.Method, rule *Rule) bool {
	return m == unwind.MethodCode && rule.Flags&(FromEntry|Agreed|Fallback) == FromEntry|Agreed
}

// raBelowSP tells whether a rule reads the return address below SP in a frame that made a
// call. Below SP is the callee's frame: a rule of main that finds main's return address
// there would read a word of f, which main called.
func raBelowSP(s *State, rule *Rule, cfa uint64) bool {
	arch := s.Snapshot.Arch
	sp, ok := s.Regs.Lookup(arch.SP)
	mask := arch.AddrMask()
	return ok && !s.Exact && rule.RA.Kind == AtCFA && (cfa+uint64(rule.RA.Off))&mask < sp&mask && !s.returnsToOwnStack(cfa&mask)
}

// leadsNowhere tells whether a return address ends the stack: why is "" if not. A frame
// whose rule itself says 0 is the root: _start clears RA. A 0 that was read from memory may
// be damage.
func leadsNowhere(arch *cpu.Arch, rule *Rule, ra uint64) (reason unwind.StopReason, why string) {
	switch lr := arch.ResetLR; {
	case ra == 0 && (rule.RA.Kind == Constant || rule.RA.Kind == SameValue):
		return unwind.StopRoot, "the return address is 0"
	case ra == 0:
		return unwind.StopNullPC, "the return address is 0"
	case lr != 0 && ra|1 == lr:
		return unwind.StopRoot, "LR as the reset left it"
	case arch.OtherState != 0 && ra|1 == arch.OtherState:
		return unwind.StopNoRule, "code of another security state called"
	}
	return 0, ""
}

// offerEnd offers the end of the stack, at a return address that leads nowhere.
func (f *finder) offerEnd(c *candidate, rule *Rule, r *search, reason unwind.StopReason, why string) {
	c.ends(unwind.Likely)
	if c.flags&Fallback != 0 || c.method == unwind.MethodCFI && r.frame.Exact && ruleSource(f.lists.all, unwind.MethodCode) != nil {
		c.ends(unwind.Guess) // an exact frame's table may be wrong (crossCheck): the code is asked
	}
	if r.offer(c) {
		r.stop = unwind.Stop{Reason: reason}
		if reason == unwind.StopNoRule {
			r.stop.Addr = r.frame.PC
		}
	}
	f.explain.candidate(r.frame, c, rule, f.query.Try, why)
}

// verify gathers the evidence for c, and offers it unless something rules c out.
func (f *finder) verify(c *candidate, rule *Rule, r *search) {
	s := r.frame
	if rule != nil && isSound(c.method, rule) && s.returnsToTracer(c) {
		f.lose(c, r, true)
	}
	f.verifier.gather(s, c)
	if f.verifier.endsStack(s, c) {
		f.offerEnd(c, rule, r, unwind.StopRoot, "the thread's stack begins here, and no call made the return address")
		return
	}
	why := f.verifier.against(s, c)
	if why == "" && c.flags&Inferred != 0 && c.checks&unwind.AtTrampoline == 0 && !f.callerProven(s, c) {
		why = "no frame of that caller lies there"
	}
	c.valid = why == ""
	f.leaveEntered(c, r)
	r.contested = r.contested || c.valid && c.checks.Has(unwind.ShadowDiffers) && rule != nil && isSound(c.method, rule)
	switch {
	case why == noProgress:
		r.stop = unwind.Stop{Reason: unwind.StopNoProgress, Addr: c.pc}
	case c.valid && !r.offer(c):
		why = "a better answer exists"
	}
	f.explain.candidate(s, c, rule, f.query.Try, why)
}

// tryException offers what an exception interrupted. Where the registers that the entry code
// saved lie at the end of the thread's stack, the kernel was entered from user space, or is
// about to go there for the first time: that is where the kernel's stack begins. Where the entry code
// saved a stack pointer to the same stack, the kernel itself was interrupted: an idle task of ARM
// has no more than 100 bytes there.
func (f *finder) tryException(c *candidate, rule *Rule, r *search) {
	s := r.frame
	top := savedUpTo(s.Regs, rule, c.CFA) + uint64(s.Snapshot.Arch.RegSize)
	stack := s.statedStack()
	nested := rule.CFA.Kind == AtReg && c.CFA >= top && stack.Contains(c.CFA)
	if stack.Contains(top-1) && stack.Hi-top <= entrySlack && !nested {
		f.offerEnd(c, rule, r, unwind.StopRoot, "the thread's stack begins with these registers")
		return
	}
	f.verify(c, rule, r)
}

// savesArguments tells whether a rule finds a register in the frame that no callee preserves, and that
// is not a signal's frame. So do the tables of functions that call __builtin_eh_return: what it
// passes to the landing pad lies there (_Unwind_Resume's a0 to a3 on MIPS, rax and rdx on x86-64).
// Which of these functions is about to leave, the code tells: see CallGraph.Abandons.
func savesArguments(rule *Rule, arch *cpu.Arch) bool {
	if rule.Flags&SignalFrame != 0 {
		return false
	}
	for i := range rule.N {
		if r := &rule.Regs[i]; r.Kind == AtCFA && !arch.Preserved.Has(r.Reg) && r.Reg != arch.LR && r.Reg != arch.PC {
			return true
		}
	}
	return false
}

// abandons asks whether the code where rule holds is about to go on in a frame further out.
func (f *finder) abandons(rule *Rule) bool {
	if f.verifier.graph == nil || rule.Flags&StartStated == 0 {
		return false
	}
	asked := f.query
	f.query.Entry, f.query.HasEntry = rule.Start, true
	abandons := f.verifier.graph.Abandons(&f.query)
	f.query = asked
	return abandons
}

// tryShadow offers the caller that the shadow stack names, where the word that a rule has for the return address is another:
// it was overwritten, and with it perhaps all that lies there. The CFA is the rule's if no word was read for it.
func (f *finder) tryShadow(c candidate, m unwind.Method, rule *Rule, r *search) {
	s := r.frame
	ra, ok := s.ShadowReturn(f.verifier.graph)
	if !ok || rule.Flags&(SignalFrame|ExceptionFrame) != 0 || !isSound(m, rule) || rule.CFA.Kind != RegPlus || plainCode(s.Snapshot, c.raw) == ra {
		return
	}
	for i := range rule.N {
		switch rr := &rule.Regs[i]; rr.Kind {
		case AtCFA, AtReg, Expression:
			c.Regs.Forget(rr.Reg)
		}
	}
	c.method, c.raw, c.flags = unwind.MethodShadow, ra, 0
	f.verify(&c, nil, r)
}

// returnsToTracer tells whether c, the caller of s, has a tracer's address as its PC, in place of the one
// that the tracer keeps and a report does not print.
func (s *State) returnsToTracer(c *candidate) bool {
	if !s.reported() || c.Exact || len(s.Thread.Hooked) > 0 {
		return false
	}
	pc, _ := s.Snapshot.Arch.SplitCode(c.raw)
	return s.Snapshot.IsHook(pc)
}

// keepPreserved sets the registers that calls preserve and that a frame with this rule saved nowhere: they are the
// caller's, wherever the return address is.
func keepPreserved(out, in *cpu.Registers, rule *Rule, arch *cpu.Arch) {
	for set := in.Known & preserved(arch); set != 0; set = set.Without(set.First()) {
		if r := set.First(); rule.Of(r).Kind == Unspecified {
			out.Set(r, in.Val[r])
		}
	}
}

// preserved are the registers that calls preserve, but for those that say where the frame is.
func preserved(arch *cpu.Arch) cpu.RegSet {
	return arch.Preserved.Without(arch.SP).Without(arch.PC)
}

// keepUnwritten sets the registers that s has saved, at a place that was not captured, and has not written since.
func keepUnwritten(out *cpu.Registers, s *State, graph CallGraph) {
	arch := s.Snapshot.Arch
	if !s.reported() || s.Exact || graph == nil {
		return
	}
	for set := s.Regs.Known & preserved(arch) &^ out.Known; set != 0; set = set.Without(set.First()) {
		r := set.First()
		if graph.Passes(s.Module, s.PC, s.Mode, r) == (Operand{Kind: InRegister, Reg: r}) {
			out.Set(r, s.Regs.Val[r])
		}
	}
}
