package stepping

import "github.com/backsight/backsight/cpu"

// LongestCall is how many bytes a direct call and its delay slot have at most: ReadsPC is true of none that goes further.
const LongestCall = 8

// ReadsPCSpan is how many instructions ReadsPC looks at.
const ReadsPCSpan = 6

// ReadsPC tells whether the first of consecutive instructions, which is at pc, calls the next one to read the PC: the code
// behind takes the address out of the link register.
//
//	bal  1f; nop; 1: lui gp,…; addiu gp,gp,…; addu gp,gp,ra    MIPS: .cpload $ra
//	bal  1f; nop; 1: addiu sp,sp,-32; sw ra,28(sp)             a function that lies behind its caller, which ends there
func ReadsPC(insns []cpu.Insn, pc uint64, mode cpu.Mode) bool {
	call := StepOf(insns, pc)
	if call.In.Op != cpu.OpCall || call.In.Target != call.Next || call.In.TargetMode != mode {
		return false
	}
	link := call.In.Dst
	for i := range insns[1:] {
		in := &insns[1+i]
		stores := in.Op == cpu.OpStore || in.Op == cpu.OpStoreMulti
		switch operand := in.Src == link || in.Src2 == link; {
		case in.Base == link, in.Index == link, operand && !stores && in.Op != cpu.OpReturn:
			return true
		case operand, in.Dst == link, in.List.Has(link), in.Op == cpu.OpCall:
			return false
		}
	}
	return false
}
