package rows

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

// denial refuses the rows of a table that say nothing but how a function begins, from where its code has moved SP and they
// still do. Compilers describe naked functions so, whose prologues are inline assembly: FreeRTOS' PendSV_Handler pushes
// r3 and lr before it calls the scheduler, and .debug_frame says CFA=sp at every instruction. Addresses are of functions; 0: none.
type denial struct {
	entry  uint64 // the last rule is such a row
	moved  uint64 // it was, in front of an instruction that has moved SP
	denied uint64
}

// of tells whether a rule is denied.
func (d *denial) of(arch *cpu.Arch, r *stackwalk.Rule) bool {
	if r.Flags&stackwalk.StartStated == 0 || !r.AtEntry(arch) {
		return false
	}
	if d.entry = r.Start; d.moved == r.Start {
		d.denied = r.Start
	}
	return d.denied == r.Start && r.Start != 0
}

// over goes over an instruction.
func (d *denial) over(arch *cpu.Arch, in *cpu.Insn) {
	by, ok := arch.Moved(in)
	if d.moved = 0; ok && by != 0 && in.Flags&cpu.FlagConditional == 0 && !in.Ends(arch.PC) {
		d.moved = d.entry
	}
}
