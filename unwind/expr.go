package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// evaluate runs a DWARF expression (DWARF 5 §2.5) of call frame information with
// the CFA pushed first.
func evaluate(expr []byte, arch *cpu.Arch, regs *cpu.Registers, mem *target.Memory, cfa uint64) (uint64, Outcome) {
	return 0, BadExpression
}
