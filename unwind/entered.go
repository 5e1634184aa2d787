package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/target"
)

// Entered fills out with the caller of a function that has jumped elsewhere with its frame in place, where SP was sp, if
// call led to that function and raw is what it returns to. slot is where the frame has raw.
func Entered(snap *target.Snapshot, graph CallGraph, call cpu.CallSite, sp, raw uint64, out *Caller) (slot uint64, ok bool) {
	arch := snap.Arch
	var at cpu.Registers
	at.Set(arch.SP, sp)
	for _, r := range graph.Entered(snap, call) {
		if r.CFA.Kind != RegPlus || r.CFA.Base != arch.SP || r.RA.Kind != AtCFA {
			continue
		}
		var c Caller
		res, oc := evaluate.Rule(arch, &r, &at, snap.Memory, snap.CodeMask, &c.Regs)
		if oc == evaluate.Applied && res.PC == raw&arch.AddrMask() {
			c.CFA, c.HasCFA = res.CFA, true
			*out = c
			return (res.CFA + uint64(r.RA.Off)) & arch.AddrMask(), true
		}
	}
	return 0, false
}

// leaveEntered makes c the caller of the function that jumped to the code of s, or to code further out that jumped to that.
// The link register still has what that function returns to, but the function's frame lies above:
//
//	schedule ── bl ─► StgRun ── br ─► code of GHC ── b ─► a C function, which saves the link register
func (f *finder) leaveEntered(c *candidate, r *search) {
	s := r.frame
	graph := f.verifier.graph
	if !c.valid || c.Exact || graph == nil || c.checks&targetChecks != TargetUnclear || s.Snapshot.Arch.LR == cpu.NoReg {
		return
	}
	call, kind := callsite.BeforeIn(s.Snapshot, c.module, c.pc, c.mode)
	if kind != callsite.Call {
		return
	}
	for _, regs := range [...]*cpu.Registers{&c.Regs, s.Regs} {
		sp, ok := regs.Lookup(s.Snapshot.Arch.SP)
		if !ok {
			continue
		}
		if _, ok := Entered(s.Snapshot, graph, call, sp, c.raw, &c.Caller); ok {
			r.answers++ // of this frame only: no rule to be kept
			return
		}
	}
}
