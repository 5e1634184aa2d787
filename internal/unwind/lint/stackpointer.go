package lint

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

// Pointer compares SP, followed through a straight line of instructions, with a table's rows.
// Where the table has the same row before and behind an instruction that moves SP, the row is wrong
// at one of the two places, whatever the rest of the function does. GCC writes such rows on ARM where
// it releases a large frame in two steps:
//
//	add sp, sp, #1376   CFA = sp+1448
//	add sp, sp, #4      CFA = sp+1448   denied
//	add sp, sp, #32     CFA = sp+68
//
// Hand-written assembly has rows that nobody has looked at: glibc's memcpy for SSSE3 on i386
// says from 179153 on that both ebx and edi lie at CFA-8. Such a row's CFA is wrong, and so is
// one that follows from that CFA over a push, a pop or a call.
type Pointer struct {
	row   int64 // CFA − SP, as the table says
	due   int64 // as the code says since the row began
	known bool
	// shared: the row has two registers in one slot, or follows from a row that has.
	shared bool
	// Denied: the table contradicts the instruction before, or itself.
	Denied bool
}

// See takes the rule that the table has for the place in front of an instruction.
func (p *Pointer) See(arch *cpu.Arch, r *stackwalk.Rule) {
	if r.CFA.Kind != stackwalk.RegPlus || r.CFA.Base != arch.SP {
		*p = Pointer{}
		return
	}
	shared := sharesSlot(r) || p.shared && r.CFA.Off == p.due
	if !p.known || r.CFA.Off != p.row {
		*p = Pointer{row: r.CFA.Off, due: r.CFA.Off, known: true}
	}
	p.shared, p.Denied = shared, shared || p.due != p.row
}

// sharesSlot tells whether a rule has two registers in one slot.
func sharesSlot(r *stackwalk.Rule) bool {
	for i := range r.N {
		for j := range i {
			if r.Regs[i].Kind == stackwalk.AtCFA && r.Regs[j].Kind == stackwalk.AtCFA && r.Regs[i].Off == r.Regs[j].Off {
				return true
			}
		}
	}
	return false
}

// Step goes over the instruction.
func (p *Pointer) Step(arch *cpu.Arch, in *cpu.Insn) {
	d, ok := arch.Moved(in)
	switch {
	case in.Ends(arch.PC), d != 0 && in.Flags&cpu.FlagConditional != 0, !ok && in.Op != cpu.OpCall:
		*p = Pointer{}
	case !ok:
		*p = Pointer{due: p.due, shared: p.shared}
	}
	p.due -= d
}
