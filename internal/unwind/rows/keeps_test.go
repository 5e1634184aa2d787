package rows

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// TestKeeps: a rule holds behind an instruction that computes in other registers than the rule goes by; it is asked
// for anew behind whatever stores, calls, jumps, or writes a register that the rule may speak of.
func TestKeeps(t *testing.T) {
	const sp, lr, saved, scratch, base = 0, 1, 2, 3, 4
	arch := &cpu.Arch{SP: sp, LR: lr, PC: 5, FP: cpu.NoReg, Preserved: cpu.SetOf(saved)}
	by := rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: base, Off: 16}
	r := &tables.Rule{CFA: by, RA: rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg}}
	none := func(in cpu.Insn) cpu.Insn {
		for _, reg := range []*cpu.Reg{&in.Dst, &in.Dst2, &in.Base} {
			if *reg == 0 {
				*reg = cpu.NoReg
			}
		}
		return in
	}
	for _, in := range []cpu.Insn{{Op: cpu.OpNop}, {Op: cpu.OpAddImm, Dst: scratch, Src: base}, {Op: cpu.OpLoad, Dst: scratch, Base: base}} {
		if in = none(in); !keeps(&in, r, arch) {
			t.Errorf("%+v: the rule does not hold behind it", in)
		}
	}
	for _, in := range []cpu.Insn{{Op: cpu.OpMove, Dst: base}, {Op: cpu.OpMove, Dst: lr}, {Op: cpu.OpClobber, List: cpu.SetOf(saved)},
		{Op: cpu.OpLoad, Dst: scratch, Base: base, WB: 4}, {Op: cpu.OpStore, Base: base}, {Op: cpu.OpCall}, {Op: cpu.OpJump},
		{Op: cpu.OpUnknown}, {Op: cpu.OpNop, Flags: cpu.FlagPadding}} {
		if in = none(in); keeps(&in, r, arch) {
			t.Errorf("%+v: the rule holds behind it", in)
		}
	}
}
