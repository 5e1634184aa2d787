package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// gather collects the evidence for c, whose raw PC and registers are known.
func (v *verifier) gather(s *State, c *candidate) {
	arch := s.Snapshot.Arch
	c.pc, c.mode = arch.SplitCode(c.raw)
	if c.Exact {
		if pc, mode, ok := arch.PCOf(&c.Regs); ok {
			c.pc, c.mode = pc, mode
		}
		c.checks |= unwind.Interrupted
	}
	v.strip(s, c)
	v.unhook(s, c)
	v.compareShadow(s, c)
	c.Regs.Set(arch.PC, c.pc)
	if c.flags&FromEntry != 0 {
		c.checks |= unwind.EntryKnown
	}
	if c.flags&Agreed != 0 {
		c.checks |= unwind.MethodsAgree
	}
	v.locate(s, c)
	c.checks |= stackChecks(s, c)
	v.call(s, c)
	if c.flags&NoReturn != 0 {
		c.checks |= unwind.Unopposed
	}
	if c.method == unwind.MethodShadow && c.checks.Proven() {
		c.checks, c.shadow.doubtful = c.checks|unwind.ShadowMatches, false
	}
	if c.checks.Has(unwind.ShadowMatches) {
		c.checks = c.checks&^unwind.TargetUnclear | unwind.Corroborated
	}
	if c.flags&(Fallback|Inferred|Abandoned) != 0 {
		c.checks |= unwind.Disputed
	}
	c.judge()
}

// strip removes the pointer authentication code from a return address that leads nowhere
// as it stands. Where the capture does not tell which bits those are, the widest address
// space is taken in which the rest of the bits lead to code.
func (v *verifier) strip(s *State, c *candidate) {
	mask, widths := s.Snapshot.CodeMask, s.Snapshot.Arch.AddrBits
	if mask == 0 && widths == nil || v.leads(s, c, c.pc) {
		return
	}
	if mask != 0 {
		c.pc = target.Unsigned(c.pc, mask)
		c.raw = c.pc
		return
	}
	for _, n := range widths {
		if pc := target.Unsigned(c.pc, 1<<n-1); v.leads(s, c, pc) {
			c.pc, c.raw = pc, pc
			return
		}
	}
}

// leads tells whether c, if its PC were pc, would be in code or at a trampoline.
func (v *verifier) leads(s *State, c *candidate, pc uint64) bool {
	m, _ := s.Snapshot.ModuleAt(pc)
	return executable(s.Snapshot, pc, m)&unwind.Executable != 0 || !c.Exact && v.trampolines.at(s, pc, c.mode)
}

// locate finds c's module, the address to look up, and whether code can run there.
func (v *verifier) locate(s *State, c *candidate) {
	snap := s.Snapshot
	c.site = c.pc
	if !c.Exact {
		c.site--
	}
	c.module, _ = snap.ModuleAt(c.site)
	c.checks |= executable(snap, c.site, c.module)
	if c.Exact || c.checks&unwind.Executable != 0 && !c.module.Hollow() {
		return
	}
	switch {
	case v.trampolines.at(s, c.raw, c.mode):
	case v.trampolines.unseen(s, c):
		c.checks |= unwind.Disputed // a signal's frame lies there, but the address may be damaged
	default:
		return
	}
	c.site, c.checks = c.pc, c.checks|unwind.AtTrampoline
	c.module, _ = snap.ModuleAt(c.pc)
	c.checks |= executable(snap, c.pc, c.module)
}

// stackChecks compares the caller's stack pointer with the callee's.
func stackChecks(s *State, c *candidate) (checks unwind.Checks) {
	arch := s.Snapshot.Arch
	sp, ok := c.Regs.Lookup(arch.SP)
	sp &= arch.AddrMask()
	old, known := s.Regs.Lookup(arch.SP)
	old &= arch.AddrMask()
	if !ok {
		return 0
	}
	if !known || sp > old || sp == old && mayKeepSP(s) {
		checks |= unwind.SPMonotonic
	}
	if sp&(max(arch.StackAlign, 1)-1) == 0 {
		checks |= unwind.SPAligned
	}
	if st := s.Stack; st.Lo == st.Hi || sp >= st.Lo && sp <= st.Hi {
		checks |= unwind.SPInStack
	}
	if c.Switched || s.returnsToOwnStack(sp) {
		checks |= unwind.SPMonotonic | unwind.SPInStack
	}
	return checks
}

// mayKeepSP tells whether a frame can have CFA = SP. A frame that made a call has its
// return address on the stack, except where the link register still holds it.
func mayKeepSP(s *State) bool { return s.Exact || !s.Snapshot.Arch.CallPushesRA }

// call looks at the code before c's return address.
func (v *verifier) call(s *State, c *candidate) {
	if c.Exact || c.checks&(unwind.Executable|unwind.AtTrampoline) != unwind.Executable {
		return
	}
	site, kind := callsite.BeforeIn(s.Snapshot, c.module, c.pc, c.mode)
	switch kind {
	case callsite.Missing:
		c.checks |= unwind.CodeMissing
		return
	case callsite.NoCall:
		switch {
		case v.trampolines.at(s, c.raw, c.mode):
			c.site, c.checks = c.pc, c.checks|unwind.AtTrampoline
		case v.graph != nil && v.graph.LeavesException(c.module, c.pc, c.mode) == Yes:
			c.site, c.checks, c.Exact = c.pc, c.checks|unwind.AtTrampoline, true
		case c.module != nil && c.module.Image != nil && v.starts.begunBy(c):
			c.checks |= unwind.ThreadStart
		default:
			c.checks |= unwind.NoCall
		}
		return
	}
	c.checks |= unwind.CallBefore
	c.site = site.Addr
	c.imageOnly = !site.Direct || c.module == s.Module
	if v.graph == nil {
		return
	}
	v.target(s, c, site)
	if !v.isAhead && c.checks&unwind.TargetDiffers == 0 && !calledByTable(c) {
		v.atStart(c, site)
	}
}

// calledByTable tells whether an unwind table located a return address behind a call that goes straight to the callee's
// function, which does not begin there itself. A pointer to another function in just that word is no doubt worth having:
// Rust's functions that end in a call of std::process::exit, and musl's exit, are followed by the next function.
func calledByTable(c *candidate) bool {
	return basisOf(c.method) == inTable && c.checks.Proven() && c.entry != c.pc
}

// atStart looks whether a function begins at c's return address.
func (v *verifier) atStart(c *candidate, site cpu.CallSite) {
	begins, known := v.starts.at(c)
	if begins || !known && v.graph.StartsFunction(c.module, c.pc, c.mode, site) {
		c.checks |= unwind.AtStart
	}
}

// noProgress is why a candidate is no frame whose stack pointer lies below its callee's.
const noProgress = "the stack pointer would not rise"

// against says why the candidate cannot be a frame, whatever method found it, or which check rules it out for its method; ""
// when it can.
func (v *verifier) against(s *State, c *candidate) string {
	switch {
	case c.checks&unwind.AtTrampoline != 0:
		if !c.Exact && !v.trampolines.leadOn(s, c) {
			return "no signal or exception frame lies there"
		}
	case c.Exact:
	case c.checks&unwind.Executable == 0:
		return "the return address is not executable"
	case c.checks&unwind.SPMonotonic == 0 && !(c.method == unwind.MethodShadow && !c.HasCFA):
		return noProgress
	}
	switch {
	case !needsCall(c.method):
	case c.checks&unwind.NoCall != 0 && (basisOf(c.method) == byConvention || c.flags&Agreed != 0) && made(s.Module) && made(c.module):
		// Guess: HotSpot's interpreter pushes where the caller goes on, and jumps.
	case c.checks&unwind.NoCall != 0:
		return "no call stands before the return address"
	case c.checks&unwind.TargetDiffers != 0 && basisOf(c.method) != bySearch:
		return "the call before the return address goes elsewhere"
	}
	return ""
}
