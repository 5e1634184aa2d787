package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
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

// leaveEntered makes c the caller of a function that has left its frame above that of s, where nobody has called the function of
// s. The link register had what that function returns to. Such a function jumps on with its frame in place, or a signal handler
// lets it, a leaf, go on elsewhere: Free Pascal's takes faults so.
//
//	schedule ── bl ─► StgRun ── br ─► code of GHC ── b ─► a C function, which saves the link register
//	copy ── jalr ─► Move ┄ SIGSEGV ┄► HandleErrorAddrFrame, which does the same
//
// The frame of another call lies there just so in a recursion. What is further out tells: above the frame that was left a call of
// the caller's function stands before the return address, and below none does.
func (f *finder) leaveEntered(c *candidate, r *search) {
	s := r.frame
	if !c.valid || c.Exact || !c.HasCFA || f.verifier.graph == nil || f.verifier.isAhead || c.checks.Has(unwind.TargetMatches) || s.Snapshot.Arch.LR == cpu.NoReg {
		return
	}
	called := Unknown // below; asked where a frame may lie above
	for _, above := range f.above(s, c) {
		if called == Unknown {
			called = f.calledBy(s, c)
		}
		if called == No && f.calledBy(s, &above) == Yes {
			*c = above
			r.answers++ // of this frame only: no rule to be kept
			return
		}
	}
}

// MaxLeafFrames bounds the heights of SP in a leaf.
const MaxLeafFrames = 2

// above are the candidates that c would be with the frame in place that the call before its PC leads to; valid until asked again.
func (f *finder) above(s *State, c *candidate) []candidate {
	all := f.entered[:0]
	arch := s.Snapshot.Arch
	call, kind := callsite.BeforeIn(s.Snapshot, c.module, c.pc, c.mode)
	sp, ok := c.Regs.Lookup(arch.SP)
	if kind != callsite.Call || !ok {
		return nil
	}
	if c.checks&targetChecks == unwind.TargetUnclear {
		for _, rule := range f.verifier.graph.Entered(s.Snapshot, call) {
			one := *c
			if _, ok := returnAbove(arch, &rule); ok && evaluated(s.Snapshot, &rule, sp, c.raw, &one.Caller) {
				all = append(all, one)
			}
		}
	}
	for _, size := range f.verifier.graph.LeafFrames(s.Snapshot, call, c.mode) {
		if size == 0 {
			break
		}
		one := *c
		one.CFA = (sp + uint64(size)) & arch.AddrMask()
		one.Regs = cpu.Registers{} // those that the leaf has changed are not known
		one.Regs.Set(arch.SP, one.CFA)
		one.Regs.Set(arch.PC, c.raw)
		all = append(all, one)
	}
	f.entered = all
	return all
}

// calledBy tells whether the frame that c, a caller of s, leads to called the function of c.
func (f *finder) calledBy(s *State, c *candidate) Answer {
	if f.searchFrom(s, c).best.checks.Has(unwind.TargetMatches) {
		return Yes
	}
	return No
}
