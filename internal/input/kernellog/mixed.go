package kernellog

import (
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// isMixed tells whether lines of another report stand in the record: registers have two values,
// an entry of a chain stands before the chain's heading or behind its outermost entry, registers
// stand within the chain.
// MIPS lists all words of a stack that may be return addresses where it cannot unwind, and what was
// left there of other tasks with them.
func (r *record) isMixed() bool {
	return r.mixed || r.trace.foreign || r.trace.beyond && r.listsFrames() || r.stack.twice || hasTwoLinks(r) || hasOtherStack(r) || isOfOtherFault(r)
}

// isOfOtherFault tells whether registers are not those that the first line of the report has, which MIPS and RISC-V print
// there, too (arch/mips/mm/fault.c, arch/riscv/mm/fault.c):
//
//	CPU 0 Unable to handle kernel paging request at virtual address 00000010, epc == c00a5020, ra == c00a506c
//	epc   : c00a5020 leaf+0x20/0x2c [toy]
//	BadVA : 00000010
func isOfOtherFault(r *record) bool {
	if !strings.HasPrefix(r.says, "Unable to handle kernel") {
		return false
	}
	if bad := r.reg("badva", "badaddr"); bad != nil && bad.known && r.fault.known && bad.value != r.fault.addr {
		return true
	}
	_, word, ok := strings.Cut(r.says, ", epc == ")
	word, _, _ = strings.Cut(word, ",")
	v, hex := phrases.Hex(word)
	pc := r.reg("epc")
	return ok && hex && pc != nil && pc.known && len(word) == pc.digits && v != pc.value
}

// hasOtherStack tells whether the stack, of which ARM says where it begins, is not where the stack pointer is.
func hasOtherStack(r *record) bool {
	sp := r.reg("sp")
	return sp != nil && sp.known && r.stack.sp != 0 && r.stack.sp != sp.value
}

// hasTwoLinks tells whether the link register, which MIPS prints twice, has two values.
func hasTwoLinks(r *record) bool {
	one, other := r.reg("$31"), r.reg("ra")
	return one != nil && other != nil && one.known && other.known && one.value != other.value
}

// unmixed drops all but one line's content from a report in which lines of another report stand: the
// place where the processor stood.
func (r *record) unmixed() {
	if !r.isMixed() {
		return
	}
	pc := pcOf(r)
	r.stack, r.hasCode, r.mixed = stack{}, false, true
	if pc == nil {
		r.regs = nil
		return
	}
	r.regs = []register{*pc}
}
