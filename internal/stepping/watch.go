package stepping

import "github.com/backsight/backsight/cpu"

// Watch are the registers by which an analysis of a stack tells instructions that are idle: that change nothing of what
// the analysis knows, and load no literal. Two of three are:
//
//	mov  0x18(%rdi),%rax     idle
//	mov  %rax,0x10(%rsp)     idle, unless a register is saved there
//	mov  0x10(%rsp),%rbx     idle, unless rbx was saved and has to come back
//	push %rbx                not idle
type Watch struct {
	// Held are registers of whose values something is known. No idle instruction writes one.
	Held cpu.RegSet
	// Pointers are those of Held that point into the stack. No idle instruction stores by one, or gives one of Tracked
	// what it loads by one or a sum of one and a constant.
	Pointers, Tracked cpu.RegSet
	// Stack is one of Pointers by which idle instructions do store, what is none of Held: in front of Stack + SavedFrom,
	// or from Stack + SavedTo on.
	Stack              cpu.Reg
	SavedFrom, SavedTo int64
	// Unused are those of Held that no idle instruction copies or addresses memory by.
	Unused cpu.RegSet
	// Constants: no idle instruction makes a constant, or a number out of some of Unused.
	Constants bool
}

// Idle tells whether an instruction is idle. None is that transfers control, where Held has the PC.
func (w *Watch) Idle(in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpNop:
		return true
	case cpu.OpClobber, cpu.OpSyscall:
		return in.List&w.Held == 0
	case cpu.OpLoad:
		literal := in.Base == cpu.NoReg && in.Index == cpu.NoReg
		return in.WB == 0 && !literal && !w.Unused.Has(in.Index) && w.IdleCopy(in.Base, in.Dst) && w.IdleCopy(in.Base, in.Dst2)
	case cpu.OpStore:
		return in.WB == 0 && !w.Unused.Has(in.Base) && !w.Unused.Has(in.Index) && (!w.Pointers.Has(in.Base) || w.idleSpill(in))
	case cpu.OpMove, cpu.OpAddImm:
		return w.IdleCopy(in.Src, in.Dst)
	case cpu.OpConst, cpu.OpInsert, cpu.OpAdd, cpu.OpAddLoad, cpu.OpSub, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm, cpu.OpShrImm, cpu.OpOr, cpu.OpCompareImm:
		return !w.Held.Has(in.Dst) && !(w.Constants && w.counts(in))
	}
	return false
}

// IdleCopy tells whether it is idle to give dst the value of src, or one that src leads to.
func (w *Watch) IdleCopy(src, dst cpu.Reg) bool {
	return !w.Unused.Has(src) && !w.Held.Has(dst) && !(w.Tracked.Has(dst) && w.Pointers.Has(src))
}

// counts tells whether an instruction that computes makes a number out of constants.
func (w *Watch) counts(in *cpu.Insn) bool {
	known := w.Unused.Has(in.Src) && (in.Src2 == cpu.NoReg || w.Unused.Has(in.Src2))
	return in.Op == cpu.OpConst || known && in.Dst != cpu.NoReg
}

// idleSpill is Idle for a store to the stack, of one register or two.
func (w *Watch) idleSpill(in *cpu.Insn) bool {
	if in.Base != w.Stack || in.Index != cpu.NoReg || w.Held.Has(in.Src) || w.Held.Has(in.Src2) {
		return false
	}
	return in.Imm >= w.SavedTo || in.Imm+2*int64(in.Size) <= w.SavedFrom
}

// Skipper is implemented by decoders that tell idle instructions faster than they decode them.
type Skipper interface {
	// Skip goes over the idle instructions at the start of code, which is at pc, as far as they begin in front of limit and
	// of SkipSpan. They take n bytes, and starts has a bit for each of these where one begins. out is the instruction
	// behind them; its Len is 0 where limit, SkipSpan or the end of the code come before.
	Skip(code []byte, limit uint, pc uint64, w *Watch, out *cpu.Insn) (starts uint64, n uint)
}

// SkipSpan is how many bytes are skipped at a time.
const SkipSpan = 64
