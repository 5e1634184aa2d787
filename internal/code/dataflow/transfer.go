package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// transfer is the end of a basic block: the step of an instruction at pc that may go elsewhere, and
// start, where the run of instructions begins that ends there.
type transfer struct {
	stepping.Step
	start, pc uint64
	mode      cpu.Mode
}

// successors are told where control goes from a transfer. The fixpoint over a function
// joins states at the places (explorer), the search for returns forks paths (pathSearch).
type successors interface {
	// goesOn: the transfer is not taken.
	goesOn(st *absint.State, t *transfer)
	// calls: a function is called.
	calls(st *absint.State, t *transfer)
	// jumps: control goes to a target that the instruction names or computes.
	jumps(st *absint.State, t *transfer)
	// returns: control goes to an address that was popped, loaded, or in the link register.
	returns(st *absint.State, to absint.Value, t *transfer)
}

// follow executes a transfer. Where the transfer is not taken, st goes on behind it;
// taken is the state where it is, often the same one.
func (t *transfer) follow(m *absint.Interp, st, taken *absint.State, to successors) {
	likely := t.In.Flags&cpu.FlagLikely != 0
	slotAt := t.pc + uint64(t.In.Len)
	var as cpu.Insn
	if t.targetOverwritten(m, st, &as) || t.enters(m, st, &as) {
		t.In = &as
	}
	if t.Slot != nil && !likely {
		m.Exec(st, t.Slot, slotAt)
	}
	if t.In.Flags&cpu.FlagConditional != 0 {
		bound(st, t.In)
		bound(taken, t.In)
		was := st.Regs[m.Arch.SP]
		probed(m, st, t)
		to.goesOn(st, t)
		st.Regs[m.Arch.SP] = was
	}
	st = taken
	if t.Slot != nil && likely {
		m.Exec(st, t.Slot, slotAt)
	}
	switch t.In.Op {
	case cpu.OpCall:
		to.calls(st, t)
	case cpu.OpJump:
		to.jumps(st, t)
	case cpu.OpReturn:
		to.returns(st, m.ReturnTarget(st, t.In), t)
	case cpu.OpLoad, cpu.OpLoadMulti:
		m.Effect(st, t.In, t.pc)
		to.returns(st, st.LoadedPC(t.In, m.Arch), t)
	}
}

// probed puts SP where a register says that points lowest into the stack, behind a loop of stack probes (disasm.Probes).
func probed(m *absint.Interp, st *absint.State, t *transfer) {
	if _, ok := disasm.Probes(m.Code, t.In, t.pc); !ok {
		return
	}
	sp := m.Arch.SP
	low := absint.StartOf(sp)
	for i := range m.Arch.Regs {
		if v := st.Regs[i]; v.RelativeTo(sp) && v.Off < low.Off {
			low = v
		}
	}
	if low != absint.StartOf(sp) {
		st.Regs[sp] = low
	}
}

// bound notes what a branch says of the bound that the last comparison gives: one for equality alone says nothing.
// Example: a match of a Rust enum that looks at one variant first (regex-syntax in rg), and has no bound for the table:
//
//	cmp w8,#6; b.ne 1f; …  1: adr x10,…; ldrh w11,[x9,x8,lsl #1]; add x10,x10,x11,lsl #2; br x10
func bound(st *absint.State, branch *cpu.Insn) {
	switch {
	case branch.Op != cpu.OpJump || branch.Src != cpu.NoReg:
	case branch.Imm == cpu.IfEqual:
		st.Limit = min(st.Limit, -st.Limit)
	default:
		st.Limit = max(st.Limit, -st.Limit)
	}
}

// targetOverwritten makes a jump through a register whose delay slot overwrites that
// register a direct one, where the target is known. So end the long jumps within a
// MIPS16 function, around which the assembler keeps v0 (jr v0; move v0,at).
func (t *transfer) targetOverwritten(m *absint.Interp, st *absint.State, direct *cpu.Insn) bool {
	in := t.In
	if t.Slot == nil || in.Src == cpu.NoReg || in.Src != t.Slot.Dst || in.Op != cpu.OpJump || in.Target != 0 {
		return false
	}
	to, ok := m.Target(st, in)
	*direct = *in
	direct.Target, direct.TargetMode = to.PC, to.Mode
	return ok
}

// enters makes a call of a retpoline, which does not come back, a jump with the return address on the stack.
func (t *transfer) enters(m *absint.Interp, st *absint.State, jump *cpu.Insn) bool {
	if t.In.Op != cpu.OpCall || !m.Arch.CallPushesRA {
		return false
	}
	to, known := m.Target(st, t.In)
	if !known || !disasm.Retpoline(m.Code, to) {
		return false
	}
	word := int64(m.Arch.RegSize)
	push := cpu.Insn{Op: cpu.OpStore, Size: uint8(word), Src: cpu.NoReg, Src2: cpu.NoReg, Base: m.Arch.SP, Index: cpu.NoReg, Imm: -word, WB: -int32(word)}
	m.Exec(st, &push, t.pc)
	*jump = *t.In
	jump.Op, jump.Target = cpu.OpJump, to.PC
	return true
}

// behind is the place where the transfer goes on when it is not taken.
func (t *transfer) behind() disasm.Addr { return disasm.Addr{PC: t.Next, Mode: t.mode} }

// millicode tells whether a call has a link register of its own (__riscv_save_N by jal
// t0): the helper runs as part of the calling function.
func (t *transfer) millicode(arch *cpu.Arch) bool {
	return t.In.Dst != arch.LR && t.In.Dst != cpu.NoReg
}
