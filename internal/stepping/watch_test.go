package stepping_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// TestIdle: rbx is saved, r12 is not, rbp points into the stack.
func TestIdle(t *testing.T) {
	const rax, rbx, rbp, r12, rsp, pc = 0, 3, 6, 12, 7, 16
	pointers := cpu.SetOf(rsp, rbp)
	w := stepping.Watch{
		Held: pointers | cpu.SetOf(r12, pc), Pointers: pointers, Tracked: pointers | cpu.SetOf(rbx, r12),
		Stack: rsp, SavedFrom: 8, SavedTo: 16, Unused: cpu.SetOf(r12),
	}
	none := cpu.Insn{Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg, Base: cpu.NoReg, Index: cpu.NoReg}
	load := func(dst, base cpu.Reg) (in cpu.Insn) {
		in = none
		in.Op, in.Dst, in.Base, in.Size = cpu.OpLoad, dst, base, 8
		return in
	}
	store := func(src, base cpu.Reg, at int64) (in cpu.Insn) {
		in = none
		in.Op, in.Src, in.Base, in.Imm, in.Size = cpu.OpStore, src, base, at, 8
		return in
	}
	move := func(dst, src cpu.Reg) (in cpu.Insn) {
		in = none
		in.Op, in.Dst, in.Src = cpu.OpMove, dst, src
		return in
	}
	clobber := func(set cpu.RegSet) (in cpu.Insn) {
		in = none
		in.Op, in.List = cpu.OpClobber, set
		return in
	}
	push := store(rbx, rsp, -8)
	push.WB = -8
	for _, tt := range []struct {
		what string
		in   cpu.Insn
		want bool
	}{
		{"nothing", none, true},
		{"rax is clobbered", clobber(cpu.SetOf(rax)), true},
		{"r12 is clobbered", clobber(cpu.SetOf(rax, r12)), false},
		{"a load", load(rbx, rax), true},
		{"a load from the stack", load(rax, rbp), true},
		{"rbx may come back", load(rbx, rsp), false},
		{"a literal", load(rax, cpu.NoReg), false},
		{"a jump", load(pc, rax), false},
		{"by what no function knows", load(rax, r12), false},
		{"a store", store(rbx, rax, 0), true},
		{"a spill", store(rbx, rsp, 16), true},
		{"a spill over what is saved", store(rbx, rsp, 15), false},
		{"a spill below", store(rbx, rsp, -8), true},
		{"by another register", store(rbx, rbp, 16), false},
		{"r12 is saved", store(r12, rsp, 16), false},
		{"a push", push, false},
		{"a copy", move(rbx, rax), true},
		{"a pointer to the stack", move(rax, rsp), true},
		{"one that is kept", move(rbx, rsp), false},
		{"r12 is copied", move(rax, r12), false},
		{"a return", cpu.Insn{Op: cpu.OpReturn, Src: cpu.NoReg}, false},
		{"an undefined instruction", cpu.Insn{Op: cpu.OpUnknown}, false},
	} {
		if got := w.Idle(&tt.in); got != tt.want {
			t.Errorf("%s: %t", tt.what, got)
		}
	}
}

// TestIdleConstants: rax has a constant, rbx none. What may build an address has to be looked at.
func TestIdleConstants(t *testing.T) {
	const rax, rbx, rcx, pc = 0, 3, 1, 16
	w := stepping.Watch{Held: cpu.SetOf(rax, pc), Unused: cpu.SetOf(rax), Stack: cpu.NoReg, Constants: true}
	computed := func(op cpu.Op, dst, src, src2 cpu.Reg) cpu.Insn {
		return cpu.Insn{Op: op, Dst: dst, Dst2: cpu.NoReg, Src: src, Src2: src2, Base: cpu.NoReg, Index: cpu.NoReg}
	}
	for _, tt := range []struct {
		what string
		in   cpu.Insn
		want bool
	}{
		{"a constant", computed(cpu.OpConst, rbx, cpu.NoReg, cpu.NoReg), false},
		{"rbx + 1", computed(cpu.OpAddImm, rcx, rbx, cpu.NoReg), true},
		{"rax + 1", computed(cpu.OpAddImm, rcx, rax, cpu.NoReg), false},
		{"rax << 1", computed(cpu.OpShlImm, rcx, rax, cpu.NoReg), false},
		{"rax + rax", computed(cpu.OpAdd, rcx, rax, rax), false},
		{"rbx + rax is no constant", computed(cpu.OpAdd, rcx, rbx, rax), true},
		{"rax is overwritten", computed(cpu.OpAdd, rax, rbx, rcx), false},
		{"rax is compared", computed(cpu.OpCompareImm, cpu.NoReg, rax, cpu.NoReg), true},
	} {
		if got := w.Idle(&tt.in); got != tt.want {
			t.Errorf("%s: %t", tt.what, got)
		}
	}
}
