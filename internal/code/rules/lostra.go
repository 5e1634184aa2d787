package rules

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/stackwalk"
)

// LostRA derives rules where the return address no longer exists: AArch64's __longjmp
// overwrites the link register before it switches stacks, functions that never return need
// not save it. Every direct call of the function is a place that it can have come from; the
// walker takes the one whose own frame is there (unwind.Inferred). st is the state at the
// point, and changes. cost is in instructions executed.
func LostRA(an *dataflow.Analysis, f *dataflow.Function, p Point, st *absint.State) (out []stackwalk.Rule, cost int) {
	if an.Arch.CallPushesRA || an.Entries.AddressTaken(f.Entry) {
		return nil, 0
	}
	var r stackwalk.Rule
	r.Reset()
	st.Regs[an.Arch.LR] = absint.StartOf(an.Arch.LR)
	if !FromState(st, an.Arch, &r) {
		return nil, 0
	}
	r.Flags |= stackwalk.Inferred
	for _, ra := range an.Entries.ReturnsOf(f.Entry) {
		// Relative to the PC, so that the rule holds at any load address.
		r.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: an.Arch.PC, Off: int64(ra - p.PC)}
		out = append(out, r)
	}
	return out, an.Entries.ReturnsCost()
}
