package lint

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/arm"
	"github.com/backsight/backsight/unwind"
)

// A large frame released in two steps, as GCC's .debug_frame for ARM describes it:
// CFA − SP in front of each instruction, what that adds to SP, and the verdict.
func TestDenied(t *testing.T) {
	a := arm.Archs()[0]
	var p Pointer
	for i, c := range []struct {
		row, adds int64
		op        cpu.Op
		denied    bool
	}{
		{1448, 1376, cpu.OpAddImm, false},
		{1448, 4, cpu.OpAddImm, true},
		{68, 32, cpu.OpAddImm, false},
		{36, 36, cpu.OpReturn, false},
		{1448, 0, cpu.OpNop, false}, // behind the return, where a branch leads
		{1448, 0, cpu.OpNop, false},
	} {
		p.See(a, &unwind.RegRule{Kind: unwind.RegPlus, Base: a.SP, Off: c.row})
		if p.Denied != c.denied {
			t.Errorf("place %d: denied %t", i, p.Denied)
		}
		p.Step(a, &cpu.Insn{Op: c.op, Dst: dst(a, c.op), Src: a.SP, Base: cpu.NoReg, Dst2: cpu.NoReg, Imm: c.adds})
		if c.op == cpu.OpNop && p.due != c.row {
			t.Errorf("place %d: %d", i, p.due)
		}
	}
}

func dst(a *cpu.Arch, op cpu.Op) cpu.Reg {
	if op == cpu.OpAddImm {
		return a.SP
	}
	return cpu.NoReg
}
