package unwind

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/target"
)

// Entered fills out with the caller of a function that has jumped elsewhere with its frame in place, if call led to that
// function, which has raw, the address that it returns to, in a slot. sp is where SP was when the function jumped.
func Entered(snap *target.Snapshot, graph CallGraph, call cpu.CallSite, slot, raw uint64, out *Caller) (sp uint64, ok bool) {
	for _, r := range graph.Entered(snap, call) {
		if above, ok := returnAbove(snap.Arch, &r); ok && evaluated(snap, &r, slot-above, raw, out) {
			return slot - above, true
		}
	}
	return 0, false
}

// returnAbove is how far above SP a rule has the return address.
func returnAbove(arch *cpu.Arch, r *Rule) (above uint64, ok bool) {
	return uint64(r.CFA.Off + r.RA.Off), r.CFA.Kind == RegPlus && r.CFA.Base == arch.SP && r.RA.Kind == AtCFA
}

// evaluated fills out by a rule where SP is sp, if that leads to raw.
func evaluated(snap *target.Snapshot, r *Rule, sp, raw uint64, out *Caller) bool {
	var at cpu.Registers
	at.Set(snap.Arch.SP, sp&snap.Arch.AddrMask())
	var c Caller
	res, oc := evaluate.Rule(snap.Arch, r, &at, snap.Memory, snap.CodeMask, &c.Regs)
	if oc != evaluate.Applied || res.PC != raw&snap.Arch.AddrMask() {
		return false
	}
	c.CFA, c.HasCFA = res.CFA, true
	*out = c
	return true
}

// leaveEntered makes c the caller of the function that jumped to the code of s, or to code further out that jumped to that. The
// link register still has what that function returns to, but the function's frame lies above:
//
//	schedule ── bl ─► StgRun ── br ─► code of GHC ── b ─► a C function, which saves the link register
//
// The frame of another call lies there just so in a recursion. What is further out tells: above the frame that was left a call of
// the caller's function stands before the return address, and below none does.
func (f *finder) leaveEntered(c *candidate, r *search) {
	s := r.frame
	if !c.valid || c.Exact || f.verifier.graph == nil || f.verifier.isAhead || c.checks&targetChecks != TargetUnclear || s.Snapshot.Arch.LR == cpu.NoReg {
		return
	}
	above := *c
	if !f.entered(&above, s) || f.calledBy(s, c) || !f.calledBy(s, &above) {
		return
	}
	*c = above
	r.answers++ // of this frame only: no rule to be kept
}

// entered makes c the caller of the function that the call before its PC leads to, if that has left a frame above the callee's.
func (f *finder) entered(c *candidate, s *State) bool {
	call, kind := callsite.BeforeIn(s.Snapshot, c.module, c.pc, c.mode)
	sp, ok := c.Regs.Lookup(s.Snapshot.Arch.SP)
	if kind != callsite.Call || !ok {
		return false
	}
	return slices.ContainsFunc(f.verifier.graph.Entered(s.Snapshot, call), func(rule Rule) bool {
		_, ok := returnAbove(s.Snapshot.Arch, &rule)
		return ok && evaluated(s.Snapshot, &rule, sp, c.raw, &c.Caller)
	})
}

// calledBy tells whether the frame that c, a caller of s, leads to called the function of c.
func (f *finder) calledBy(s *State, c *candidate) bool {
	return f.searchFrom(s, c).best.checks.Has(TargetMatches)
}
