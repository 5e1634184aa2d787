// Package fp unwinds by the conventional frame pointer: FP points at a record of
// the caller's FP and the return address.
//
//	x86             AArch64                 RISC-V
//	CFA   ─►        CFA  ─► …               FP = CFA ─►
//	      RA             saved registers          RA
//	FP ─► saved FP       RA                       saved FP
//	      locals    FP ─► saved FP                saved registers
//
// It is what to fall back on where neither tables nor code tell: whether the
// function keeps a frame pointer at all, only verification shows.
package fp

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source is the stackwalk.RuleSource of frame pointer chains, as cpu.FPChain
// describes them.
type Source struct{}

var _ stackwalk.RuleSource = Source{}

// Method is MethodFP.
func (Source) Method() unwind.Method { return unwind.MethodFP }

// Rule has one answer. In an exact frame it has none: the thread may be in a
// prologue, an epilogue or a leaf, where FP is still or again the caller's, and
// following it would silently skip the caller. A frame that has made a call has
// its own FP, if it uses one.
//
// Preserved registers other than FP are lost: the function may have saved them
// anywhere and changed them since.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	chain := q.Arch.FPChain
	if chain == nil || q.Exact || q.Try > 0 {
		return unwind.NotCovered
	}
	fp := q.Arch.FP
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: fp, Off: chain.CFA}
	out.RA = stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: cpu.NoReg, Base: fp, Off: chain.SavedRA}
	out.Add(stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: fp, Base: fp, Off: chain.SavedFP})
	for lost := q.Arch.Preserved.Without(fp); lost != 0; lost = lost.Without(lost.First()) {
		out.Add(stackwalk.RegRule{Kind: stackwalk.Undefined, Reg: lost.First(), Base: cpu.NoReg})
	}
	if !fixed(q.Arch) {
		out.Flags |= stackwalk.Fallback
	}
	return unwind.Found
}

// fixed tells whether the CFA follows from FP. It does where a call pushes the
// return address, which lies right below the CFA, or where FP is the CFA
// (RISC-V psABI, "Frame Pointer Convention"). On AArch64 the record may lie
// anywhere in the frame (AAPCS64 6.4.6), so that CFA and SP are lower bounds:
// `stp x29, x30, [sp, #-48]!; mov x29, sp` has its CFA at x29+48.
func fixed(a *cpu.Arch) bool { return a.EntryCFA != 0 || a.FPChain.CFA == 0 }
