package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// target compares where the call before c's return address goes with where the callee s
// is. A trampoline or an interrupted frame was not entered by that call.
func (v *verifier) target(s *State, c *candidate, site cpu.CallSite) {
	if c.method == MethodSigframe || s.AtVector() {
		return
	}
	entry, mode := site.Target, site.TargetMode
	if site.Direct {
		starts := startsAt(s, c, entry)
		if starts || v.stubFor(s, c, entry, mode) {
			c.checks |= TargetMatches
			c.entry, c.imageOnly = entry, c.imageOnly && starts
			return
		}
	} else {
		if c.method.basis() == inTable && !v.isAhead {
			return // tables need no such witness, and where the call goes is much work to find out
		}
		c.imageOnly = false
		answer, to, known := v.callee(s, c, site.Addr)
		if !known {
			answer = v.graph.Witnesses().MayCall(s.Snapshot, site.Addr, c.mode, s.Site)
		}
		v.settle(s, c, site, to, answer)
		return
	}
	v.settle(s, c, site, entry, v.reaches(s, c, entry, mode))
}

// callee tells whether the indirect call at site leads to s, and which function that call goes to, as
// far as that is known.
func (v *verifier) callee(s *State, c *candidate, site uint64) (a Answer, entry uint64, known bool) {
	entry, mode, known := v.graph.Callee(s.Snapshot, site, c.mode)
	if !known {
		return Unknown, 0, false
	}
	return v.reaches(s, c, entry, mode), entry, true
}

// settle notes what the answer says about the call at site, which goes to entry; 0: to several.
func (v *verifier) settle(s *State, c *candidate, site cpu.CallSite, entry uint64, a Answer) {
	switch {
	case a == Anywhere:
	case a == Yes || a == YesByJump:
		c.checks |= TargetMatches
		if a == YesByJump {
			c.checks |= TargetUnclear
		}
		c.entry = entry
	case !site.Direct:
	case a == Unknown || v.starts.splitOff(s, c):
		c.checks |= TargetUnclear
	default:
		c.checks |= TargetDiffers
	}
}

// reaches tells whether a call of entry can have led to s.
func (v *verifier) reaches(s *State, c *candidate, entry uint64, mode cpu.Mode) Answer {
	return ask(v.graph.Reaches, s, c, entry, mode)
}

// ask asks the call graph whether a call of entry leads to s, as long as s may cost more.
func ask(leads func(*target.Snapshot, uint64, cpu.Mode, uint64) (Answer, bool, uint64), s *State, c *candidate, entry uint64, mode cpu.Mode) Answer {
	if s.Exhausted() {
		c.imageOnly = false
		return Unknown
	}
	a, imageOnly, cost := leads(s.Snapshot, entry, mode, s.Site)
	s.Cost += cost
	c.imageOnly = c.imageOnly && imageOnly
	return a
}

// startsAt tells whether the callee's function begins at entry by the table that c's
// rule comes from: what most calls are to be checked against, without a look at code.
func startsAt(s *State, c *candidate, entry uint64) bool {
	m := s.Module
	return c.flags&StartStated != 0 && m != nil && m.Contains(entry) && m.ToImage(entry)&m.Image.Arch.AddrMask() == c.start
}

// stubFor tells whether entry is a PLT stub for the function that startsAt asks for.
func (v *verifier) stubFor(s *State, c *candidate, entry uint64, mode cpu.Mode) bool {
	if c.flags&StartStated == 0 {
		return false
	}
	to, ok := v.graph.Stub(s.Snapshot, entry, mode, s.Site)
	return ok && startsAt(s, c, to)
}

// oneBitAway looks for return addresses that differ from c's in one bit and follow a call
// that may have led to s as well as the call at site. main calls f and returns to 0x404, and
// again to 0x414: with bit 4 of the return address lost, the wrong call looks just as good.
// Bytes within another instruction are no call, though they look like one. A call in another function
// than site's looks as good only as long as nothing proves which
// function the frame is of. Where nobody knows whether it is another one, both doubts hold.
func (v *verifier) oneBitAway(s *State, c *candidate, site cpu.CallSite) (found Checks) {
	m := c.module
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return 0
	}
	arch := m.Image.Arch
	at := m.ToImage(c.pc) & arch.AddrMask()
	text, ok := m.Image.Segments.At(at - 1)
	if !ok || !text.Exec {
		return 0
	}
	for far, other := range callsite.OneBitAway(m, text, at, c.mode) {
		if !doubtful(v, s, c, site, other) {
			continue
		}
		c.imageOnly = c.imageOnly && !callsite.DependsOnBias(m, at, far)
		switch v.graph.OneFunction(m, site.Addr, other.Addr, c.mode) {
		case Yes:
			found |= OneBitAway
		case No:
			found |= OneBitElsewhere
		default:
			found |= OneBitAway | OneBitElsewhere
		}
	}
	if !c.imageOnly {
		return found
	}
	for _, other := range callsite.OneBitAwayMoved(m, text, at, c.mode) {
		if doubtful(v, s, c, site, other) {
			c.imageOnly = false
			break
		}
	}
	return found
}

// doubtful tells whether other is a call, and as good as the call at site.
func doubtful(v *verifier, s *State, c *candidate, site, other cpu.CallSite) bool {
	return v.asGood(s, c, site, other) && !v.graph.Witnesses().WithinInstruction(c.module, other.Addr, c.mode)
}

// asGood tells whether the call other may have led to s as well as the call at site. Where
// the call at site is proven to go to the callee, another one is as good if it is known to
// go there, too; else if nobody knows its target. Where the target is known, but not where
// that goes on to (a PLT stub whose import was not captured, through a register on MIPS), the call
// is as good as one in the same function of which nothing is known at all, unless imports' names tell
// otherwise: busybox's awk for mipsel calls a function that ends in a jump to free at 0xbacf4, and
// through its GOT at 0xba4f4. A call straight to the callee may be any other one, and a call
// that came to s by a jump any other that does; so may one through a pointer to the callee, in
// the same function: busybox's evaltree calls itself at 0x50b98 of AArch64's, and through a
// register, that may hold evaltree's address, at 0x50a98. In another function a call through
// a pointer would have to be made from a frame of the same size.
func (v *verifier) asGood(s *State, c *candidate, site, other cpu.CallSite) bool {
	if site.Direct && other.Direct && other.Target == site.Target {
		return true
	}
	entry, mode := other.Target, other.TargetMode
	unclear := c.checks&targetChecks == TargetUnclear
	if !other.Direct {
		within := v.graph.OneFunction(c.module, site.Addr, other.Addr, c.mode) == Yes
		if site.Direct && !within && !unclear {
			return false
		}
		var known bool
		if within || c.method.basis() != inTable || !c.checks.proven() {
			c.imageOnly = false
			entry, mode, known = v.graph.Callee(s.Snapshot, other.Addr, c.mode)
		}
		if !known && c.through != nil {
			return c.through.mayCall(c.module, other.Addr, c.mode, within)
		}
		if !known {
			proven := c.checks.proven()
			return (within || !proven) && mayBePointedTo(v.graph, s, c, other, proven && site.Direct)
		}
	}
	switch {
	case c.checks.proven() && entry == c.entry:
		return true
	case c.flags&StartStated != 0 && (startsAt(s, c, entry) || v.stubFor(s, c, entry, mode)):
		return true
	case c.flags&StartStated != 0 && c.checks.proven() && s.Module.Contains(entry):
		return false // the table tells where both lead; to follow jumps is much work
	}
	unproven := !c.checks.proven() && v.graph.OneFunction(c.module, site.Addr, other.Addr, c.mode) == Yes
	if c.flags&StartStated != 0 && !unproven {
		return false
	}
	a := v.reaches(s, c, entry, mode)
	switch {
	case a != Unknown:
		return a == Yes || a == YesByJump
	case !unclear && !unproven, ask(v.graph.Witnesses().MayReach, s, c, entry, mode) == No:
		return false
	case unclear, site.Direct:
		return true
	}
	own, _, _ := v.callee(s, c, site.Addr) // of a frame found by tables nothing has asked that yet (target)
	return own != Yes
}

// mayBePointedTo tells whether a call through a register or a pointer may have led to s: the ways to the call
// tell, or the name of the import that the call goes to: git for MIPS calls a function of its own at 0x92380 of
// mipsel's, and free, through a GOT entry that was not captured, at 0x92390. Where a call that names the callee
// led to s (named), it takes a pointer to the callee somewhere for another to have led there.
func mayBePointedTo(graph CallGraph, s *State, c *candidate, call cpu.CallSite, named bool) bool {
	switch graph.Witnesses().MayCall(s.Snapshot, call.Addr, c.mode, s.Site) {
	case Yes, YesByJump:
		return true
	case No:
		return false
	}
	return !named || graph.Witnesses().CalledByPointer(s.Module, s.Site, s.Mode) == Yes
}
