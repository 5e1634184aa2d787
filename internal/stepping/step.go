// Package stepping goes through instructions that a cpu.Decoder has decoded: with their delay slots, and those that read the PC.
package stepping

import "github.com/backsight/backsight/cpu"

// Step is an instruction with what stands in its delay slot, which runs before a transfer takes effect:
//
//	jal   f          In
//	addiu a0,a0,1    Slot
//	lw    ra,28(sp)  Next: where the call returns to
//
// MIPS has delay slots (MIPS32 Architecture, vol. I, "Delay slots in the MIPS architecture"); of other
// processors a step is one instruction.
type Step struct {
	In   *cpu.Insn
	Slot *cpu.Insn // nil: In has no delay slot, or Cut
	Next uint64    // the address behind both, where execution goes on unless In transfers it
	Cut  bool      // the code ends in front of the delay slot
}

// StepOf is the step that the first of consecutive instructions begins, which is at pc.
func StepOf(insns []cpu.Insn, pc uint64) Step {
	in := &insns[0]
	if in.Flags&cpu.FlagDelaySlot != 0 {
		return stepWithSlot(insns, pc)
	}
	return Step{In: in, Next: pc + uint64(in.Len)}
}

func stepWithSlot(insns []cpu.Insn, pc uint64) Step {
	s := Step{In: &insns[0], Next: pc + uint64(insns[0].Len), Cut: len(insns) == 1}
	if !s.Cut {
		s.Slot = &insns[1]
		s.Next += uint64(s.Slot.Len)
	}
	return s
}

// Waits tells whether In takes effect only behind the next instruction, be that decoded or not.
func (s *Step) Waits() bool { return s.Slot != nil || s.Cut }

// Deciding is the one of consecutive instructions that decides whether execution goes on behind the last:
// the transfer in whose delay slot the last stands, else the last.
func Deciding(insns []cpu.Insn) *cpu.Insn {
	n := len(insns)
	if n > 1 && insns[n-2].Flags&cpu.FlagDelaySlot != 0 {
		return &insns[n-2]
	}
	return &insns[n-1]
}
