package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/unwind"
)

// step is an instruction in front of a call, and the address of its memory operand in terms of the
// beginning of the call's basic block.
type step struct {
	cpu.Insn
	at absint.Value
}

// Bounds of a computation: the instructions in front of the call, and the terms of one value.
const (
	maxComputing = 64
	maxTerms     = 16
)

// computation says how the instructions in front of a call compute what they pass from what the
// caller still holds while the call runs. Example: busybox's evaltree, which calls itself
//
//	sub w21,w0,#5; ldr w0,[sp,#8]; lsr w1,w21,#1; sub w1,w1,#1; orr w1,w1,w0; and w1,w1,#2; bl
//
// still has w21, and the word at sp+8: with 0 in both, this call passed 2.
type computation struct {
	*passed
	terms    int
	anywhere bool // words are looked at wherever they lie, and may have changed
}

// before is the value of a register before step n, in terms of what the caller still holds; Anything
// where the code does not tell.
func (c *computation) before(n int, r cpu.Reg) unwind.Operand {
	c.terms++
	if c.terms > maxTerms {
		return unwind.Operand{}
	}
	if keptByCallees(c.arch).Has(r) && lastWrite(c.steps[n:], r) < 0 {
		return unwind.Operand{Kind: unwind.InRegister, Reg: r}
	}
	k := lastWrite(c.steps[:n], r)
	if k < 0 {
		return c.operand(absint.StartOf(r))
	}
	in := &c.steps[k]
	if in.Flags&(cpu.FlagConditional|cpu.FlagAddress) != 0 || in.Dst != r {
		return unwind.Operand{}
	}
	switch in.Op {
	case cpu.OpConst:
		return unwind.Operand{Kind: unwind.Number, Off: in.Imm}
	case cpu.OpMove:
		return c.before(k, in.Src)
	case cpu.OpLoad:
		o := c.loaded(k)
		if o.Kind == unwind.Anything && c.anywhere {
			o = c.pointedAt(k)
		}
		return o
	}
	return c.result(k)
}

// result is what the arithmetic of the step with index k yields.
func (c *computation) result(k int) unwind.Operand {
	in := &c.steps[k]
	term := &unwind.Term{Op: in.Op, Imm: in.Imm, Scale: in.Scale}
	switch in.Op {
	case cpu.OpShrImm:
		if in.Flags&cpu.FlagWord32 == 0 && c.arch.RegSize != 4 {
			return unwind.Operand{} // takes bits from above the 32 that are known
		}
	case cpu.OpAddImm, cpu.OpAndImm, cpu.OpOrImm, cpu.OpShlImm:
	case cpu.OpAdd, cpu.OpSub, cpu.OpOr:
		if in.Flags&cpu.FlagSigned != 0 {
			return unwind.Operand{}
		}
		if term.B = c.before(k, in.Src2); term.B.Kind == unwind.Anything {
			return unwind.Operand{}
		}
	default:
		return unwind.Operand{}
	}
	if term.A = c.before(k, in.Src); term.A.Kind == unwind.Anything {
		return unwind.Operand{}
	}
	return unwind.Operand{Kind: unwind.Computed, Of: term}
}

// loaded is the word of the caller's frame that the step with index k loaded: no step behind that one
// stores there, and nobody else has the address.
func (c *computation) loaded(k int) unwind.Operand {
	in := &c.steps[k]
	size := int(in.Size)
	if size != 4 && size != c.arch.AddrSize || in.at.Kind != absint.StartRelative {
		return unwind.Operand{}
	}
	r, off, ok := c.holder(in.at.Base)
	if !ok || r != c.arch.SP || overwritten(in, c.steps[k+1:]) || !c.private(in.at.Off-off) {
		return unwind.Operand{}
	}
	return unwind.Operand{Kind: unwind.InMemory, Reg: r, Off: in.at.Off - off, Size: in.Size}
}

// overwritten tells whether a step behind a load stores to what that loaded from the frame.
func overwritten(load *step, behind []step) bool {
	return slices.ContainsFunc(behind, func(in step) bool {
		width := int64(in.Size)
		if in.Src2 != cpu.NoReg {
			width *= 2
		}
		near := in.at.Kind == absint.StartRelative && in.at.Base == load.at.Base && in.at.Off < load.at.Off+int64(load.Size) && load.at.Off < in.at.Off+width
		return in.Op == cpu.OpStoreMulti || in.Op == cpu.OpStore && near
	})
}

// private tells whether the function gives no address away by which others may change the word off
// bytes above SP at the call.
func (c *computation) private(off int64) bool {
	if c.exposed == 0 {
		c.exposed = dataflow.LowestEscaping(c.fn)
	}
	sp := c.whole.Regs[c.arch.SP]
	return sp.RelativeTo(c.arch.SP) && sp.Off+off < c.exposed
}

// lastWrite is the index of the last step that may write a register, -1 if none does.
func lastWrite(steps []step, r cpu.Reg) int {
	for k := len(steps) - 1; k >= 0; k-- {
		if in := &steps[k].Insn; disasm.Writes(in, r) || in.Op == cpu.OpCall || in.Op == cpu.OpLeave {
			return k
		}
	}
	return -1
}
