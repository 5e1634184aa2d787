package lint

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// Pointer follows SP through a straight line of instructions beside what a table
// says of it. Where the table keeps its row over an instruction that moves SP, one of
// the two places contradicts the code, whatever the rest of the function does. GCC
// does that on ARM where it releases a large frame in two steps, which stands in no
// unwind table that it tests:
//
//	add sp, sp, #1376   CFA = sp+1448
//	add sp, sp, #4      CFA = sp+1448   denied
//	add sp, sp, #32     CFA = sp+68
type Pointer struct {
	row   int64 // CFA − SP, as the table says
	due   int64 // as the code says since the row began
	known bool
	// Denied: the table contradicts the instruction before.
	Denied bool
}

// See takes the table's word for the place in front of an instruction.
func (p *Pointer) See(arch *cpu.Arch, cfa *unwind.RegRule) {
	switch {
	case cfa.Kind != unwind.RegPlus || cfa.Base != arch.SP:
		*p = Pointer{}
	case !p.known || cfa.Off != p.row:
		*p = Pointer{row: cfa.Off, due: cfa.Off, known: true}
	default:
		p.Denied = p.due != p.row
	}
}

// Step goes over the instruction.
func (p *Pointer) Step(arch *cpu.Arch, in *cpu.Insn) {
	d, ok := moved(arch, in)
	if !ok || d != 0 && in.Flags&cpu.FlagConditional != 0 || in.Ends(arch.PC) {
		*p = Pointer{}
	}
	p.due -= d
}

// moved is what an instruction adds to SP; false where that is not a constant.
func moved(arch *cpu.Arch, in *cpu.Insn) (int64, bool) {
	switch {
	case in.Op == cpu.OpLeave || in.Op == cpu.OpCall && arch.CallPushesRA:
		return 0, false
	case in.Op == cpu.OpAddImm && in.Dst == arch.SP:
		return in.Imm, in.Src == arch.SP
	case in.Dst == arch.SP || in.Dst2 == arch.SP || in.Op != cpu.OpStoreMulti && in.List.Has(arch.SP):
		return 0, false
	case in.Base == arch.SP:
		return int64(in.WB), true
	}
	return 0, true
}
