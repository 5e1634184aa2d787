package lint

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
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
		p.See(a, atSP(a, c.row))
		if p.Denied != c.denied {
			t.Errorf("place %d: denied %t", i, p.Denied)
		}
		p.Step(a, &cpu.Insn{Op: c.op, Dst: dst(a, c.op), Src: a.SP, Base: cpu.NoReg, Dst2: cpu.NoReg, Imm: c.adds})
		if c.op == cpu.OpNop && p.due != c.row {
			t.Errorf("place %d: %d", i, p.due)
		}
	}
}

// atSP is a rule whose CFA is so far from SP, with registers saved at offsets from the CFA.
func atSP(a *cpu.Arch, off int64, saved ...int64) *stackwalk.Rule {
	r := stackwalk.Rule{CFA: stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: a.SP, Off: off}}
	for i, at := range saved {
		r.Add(stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: cpu.Reg(i), Off: at})
	}
	return &r
}

// TestSharedSlot: glibc's memcpy for SSSE3 on i386, from a label of a jump table on, with edi
// and ebx on the stack. The row that has both in one slot is wrong, and the rows of the same
// straight line behind pop %edi and behind a call are.
func TestSharedSlot(t *testing.T) {
	a := x86.Archs()[1]
	var p Pointer
	for i, c := range []struct {
		in     cpu.Insn
		row    *stackwalk.Rule
		denied bool
	}{
		{cpu.Insn{Op: cpu.OpNop}, atSP(a, 8, -8, -8), true},
		{cpu.Insn{Op: cpu.OpLoad, Base: a.SP, WB: 4}, atSP(a, 8, -8, -8), true},
		{cpu.Insn{Op: cpu.OpCall}, atSP(a, 4, -8), true},
		{cpu.Insn{Op: cpu.OpNop}, atSP(a, 4, -8), true},
		{cpu.Insn{Op: cpu.OpJump}, atSP(a, 4, -8), true},
		{cpu.Insn{Op: cpu.OpNop}, atSP(a, 8, -8, -4), false},
	} {
		p.See(a, c.row)
		if p.Denied != c.denied {
			t.Errorf("place %d: denied %t", i, p.Denied)
		}
		c.in.Dst, c.in.Dst2 = cpu.NoReg, cpu.NoReg
		p.Step(a, &c.in)
	}
}

func dst(a *cpu.Arch, op cpu.Op) cpu.Reg {
	if op == cpu.OpAddImm {
		return a.SP
	}
	return cpu.NoReg
}
