package stackwalk

import "github.com/backsight/backsight/unwind"

// candidate is a possible caller of the frame being unwound: its registers, and what
// speaks for and against them.
type candidate struct {
	Caller
	evidence
	arguments []passedValue // State.arguments of the caller
	shadow    shadowPlace   // of the caller
	exits     unwind.Checks // not 0: the caller is none, but the code that ends a coroutine, the last frame of the walk, with these checks
}

// newCandidate is a candidate of a method that nothing is known of yet. rule is what the
// caller was found by, nil if it was not found by a rule.
func newCandidate(m unwind.Method, rule *Rule) candidate {
	c := candidate{evidence: evidence{method: m, valid: true}}
	if rule != nil {
		c.flags, c.start = rule.Flags, rule.Start
		if rule.Flags&ExceptionFrame != 0 {
			c.method = unwind.MethodException
		}
	}
	return c
}

// beats tells whether c is a better answer than b; of equals the earlier one stays.
func (c *candidate) beats(b *candidate) bool {
	return !b.valid || c.trust > b.trust || c.trust == b.trust && c.rank() > b.rank()
}

// convinces tells whether c ends the search. What the frame pointer convention or a
// fallback gave does not.
func (c *candidate) convinces() bool {
	return c.valid && c.checks&unwind.ShadowDiffers == 0 && c.method != unwind.MethodShadow && (c.trust == unwind.Certain ||
		c.trust == unwind.Likely && basisOf(c.method) != byConvention && c.flags&Fallback == 0)
}

// rank orders candidates of equal trust.
func (c *candidate) rank() int {
	switch {
	case c.end:
		return 0
	case c.flags&Fallback != 0 || c.method == unwind.MethodShadow:
		return score(c.checks) - 15
	}
	return score(c.checks)
}

// score weighs what speaks for and against a candidate.
func score(c unwind.Checks) int {
	n := 0
	for _, w := range [...]struct {
		check  unwind.Checks
		weight int
	}{
		{unwind.TargetMatches, 40}, {unwind.AtTrampoline, 40}, {unwind.CallBefore, 20}, {unwind.MethodsAgree, 10}, {unwind.EntryKnown, 8}, {unwind.SPMonotonic, 5},
		{unwind.SPInStack, 4}, {unwind.SPAligned, 2}, {unwind.TargetDiffers, -40}, {unwind.NoCall, -40}, {unwind.CodeMissing, -5},
		{unwind.ShadowMatches, 40}, {unwind.ShadowDiffers, -40},
	} {
		if c&w.check != 0 {
			n += w.weight
		}
	}
	return n
}

// frame is the candidate as the next frame of a walk.
func (c *candidate) frame() unwind.Frame {
	return unwind.Frame{PC: c.pc, Mode: c.mode, CallSite: c.lookedUp(), Exact: c.Exact, Module: c.module,
		Method: c.method, Checks: c.checks, Trust: c.trust, Cap: c.cap}
}

// lookedUp is the address that names the candidate: within the call before the return address. No call leads to where a kernel
// has a task return to, the beginning of a function (RT-Thread's _thread_exit): the name is that function's.
func (c *candidate) lookedUp() uint64 {
	if c.checks&unwind.NoCall == 0 || c.module == nil || c.module.Image == nil {
		return c.site
	}
	at := c.module.ToImage(c.pc) & c.module.Image.Arch.AddrMask()
	if f, ok := c.module.Image.Symbols.At(at); ok && f.Addr == at {
		return c.pc
	}
	return c.site
}

// enter makes the candidate c the frame to be unwound next.
func (s *State) enter(c *candidate) {
	*s.Regs = c.Regs
	s.PC, s.Site, s.Mode, s.Exact, s.Module = c.pc, c.site, c.mode, c.Exact, c.module
	s.Base = s.Base || c.Base
	s.hooked, s.arguments = c.hooked, c.arguments
	s.atLeast, s.above, s.floor = c.method == unwind.MethodScan && !c.HasCFA, false, 0
	s.shadow = shadow{shadowPlace: c.shadow}
	s.followStack()
}
