package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// verifier finds out what speaks for and against a candidate: where its PC is, how its
// stack pointer lies to the callee's, which call stands before its return address, and
// where that call goes. The frame s whose caller a candidate is has the snapshot.
type verifier struct {
	graph       CallGraph // nil: where calls go is not checked
	trampolines trampolines
	starts      startRules
	isAhead     bool // the candidate only serves to prove another one: no costly checks
}

// target compares where the call before c's return address goes with where the callee s
// is. A trampoline or an interrupted frame was not entered by that call.
func (v *verifier) target(s *State, c *candidate, site cpu.CallSite) {
	if c.method == unwind.MethodSigframe || s.AtVector() {
		return
	}
	entry, mode := site.Target, site.TargetMode
	if site.Direct {
		starts := startsAt(s, c, entry) && !v.starts.ofSeveral(s, c)
		if starts || v.stubFor(s, c, entry, mode) {
			c.checks |= unwind.TargetMatches
			c.entry, c.imageOnly = entry, c.imageOnly && starts
			return
		}
	} else {
		if basisOf(c.method) == inTable && !v.isAhead {
			v.throughSlot(s, c, site.Target)
			return // tables need no other such witness, and where the call goes is much work to find out
		}
		c.imageOnly = false
		answer, to, known := v.callee(s, c, site.Addr)
		if !known {
			answer = v.graph.MayCall(s.Snapshot, site.Addr, c.mode, s.Site)
		}
		v.settle(s, c, site, to, answer)
		return
	}
	v.settle(s, c, site, entry, v.reaches(s, c, entry, mode))
}

// throughSlot compares the callee's function with the one whose address the linker put into the word that the call loads: compilers
// call functions of other files so, and many of these lie in the same image after all (Rust; C with -fno-plt).
func (v *verifier) throughSlot(s *State, c *candidate, slot uint64) {
	m := c.module
	if slot == 0 || m == nil || m != s.Module || m.Image == nil || c.flags&StartStated == 0 {
		return
	}
	entry, ok := m.Image.LoadedWord(m.ToImage(slot))
	if ok && entry == c.start && !v.starts.ofSeveral(s, c) {
		c.checks |= unwind.TargetMatches
		c.entry = m.ToTarget(entry)
	}
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
		c.checks |= unwind.TargetMatches
		if a == YesByJump {
			c.checks |= unwind.TargetUnclear
		}
		c.entry = entry
	case !site.Direct:
	case a == Unknown || v.starts.splitOff(s, c) || logged(c.module): // HotSpot changes calls once their functions are compiled
		c.checks |= unwind.TargetUnclear
	default:
		c.checks |= unwind.TargetDiffers
	}
}

// reaches tells whether a call of entry can have led to s.
func (v *verifier) reaches(s *State, c *candidate, entry uint64, mode cpu.Mode) Answer {
	return askWithin(v.graph.Reaches, s, c, entry, mode)
}

// askWithin asks the call graph whether a call of entry leads to s, as long as s may cost more.
func askWithin(leads func(*target.Snapshot, uint64, cpu.Mode, uint64) (Answer, bool, uint64), s *State, c *candidate, entry uint64, mode cpu.Mode) Answer {
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
