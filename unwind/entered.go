package unwind

import (
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

// leaveEntered makes c the caller of the function that jumped to the code of s, or to code further out that jumped to that.
// The link register still has what that function returns to, but the function's frame lies above:
//
//	schedule ── bl ─► StgRun ── br ─► code of GHC ── b ─► a C function, which saves the link register
func (f *finder) leaveEntered(c *candidate, r *search) {
	s := r.frame
	arch, graph := s.Snapshot.Arch, f.verifier.graph
	if !c.valid || c.Exact || graph == nil || c.checks&targetChecks != TargetUnclear || arch.LR == cpu.NoReg {
		return
	}
	call, kind := callsite.BeforeIn(s.Snapshot, c.module, c.pc, c.mode)
	if kind != callsite.Call {
		return
	}
	own, _ := s.Regs.Lookup(arch.SP)
	callers, _ := c.Regs.Lookup(arch.SP)
	for _, rule := range graph.Entered(s.Snapshot, call) {
		_, ok := returnAbove(arch, &rule)
		if ok && (evaluated(s.Snapshot, &rule, callers, c.raw, &c.Caller) || evaluated(s.Snapshot, &rule, own, c.raw, &c.Caller)) {
			r.answers++ // of this frame only: no rule to be kept
			return
		}
	}
}
