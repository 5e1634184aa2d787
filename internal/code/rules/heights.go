package rules

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/stackwalk"
)

// HeightFlags are the flags of rules by stack-height analysis. Such a rule is derived forward
// from an entry, and every return confirms the rule by undoing the frame.
const HeightFlags = stackwalk.FromEntry | stackwalk.Agreed

// FromHeights writes the rule of a place by stack-height analysis; false where a register
// is lost.
func FromHeights(t *heights.Table, f *heights.SavedRegs, arch *cpu.Arch, out *stackwalk.Rule) bool {
	out.Reset()
	out.Flags = HeightFlags
	if f.SP > 0 {
		return false
	}
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: arch.SP, Off: arch.EntryCFA - int64(f.SP)}
	inCFA := func(r cpu.Reg, off int64) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: r, Base: cpu.NoReg, Off: off - arch.EntryCFA}
	}
	switch {
	case arch.CallPushesRA:
		out.RA = inCFA(cpu.NoReg, 0)
	case f.Saved.Has(arch.LR):
		out.RA = inCFA(cpu.NoReg, t.SlotOf(f, arch.LR))
	case f.Kept.Has(arch.LR):
		out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: arch.LR}
	default:
		return false
	}
	for set := arch.Preserved &^ f.Kept; set != 0; set &= set - 1 {
		r := set.First()
		if !f.Saved.Has(r) {
			return false
		}
		out.Add(inCFA(r, t.SlotOf(f, r)))
	}
	return true
}
