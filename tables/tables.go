// Package tables is what a table for other programs says: the functions of an image, and the
// unwind rule at each of their instructions. The packages below write that in the forms that
// debuggers, crash reporters, kernels and devices read.
package tables

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind/rule"
)

// Program is the rules of an image. All addresses are image addresses without mode bit.
type Program struct {
	Image *image.Image
	// Functions are in order of address and do not overlap.
	Functions []Function
	// Rules are those of all rows, each once.
	Rules []Rule
}

// Function is the code from one beginning to the next, as far as rules are known for it.
type Function struct {
	// Name is that of the symbol at Start, "" where there is none.
	Name       string
	Start, End uint64
	Mode       cpu.Mode
	// Rows are in order of address, the first at Start. Neighbours differ.
	Rows []Row
}

// Row says which rule holds from Addr up to the next row, or to the function's end. What it
// says at the first byte of an instruction holds before the instruction; what it says at the
// other bytes (and at those of a delay slot) holds while a call that stands there is running.
// Readers look frames up like that: an interrupted one by its PC, a calling one by its return
// address minus 1.
type Row struct {
	Addr uint64
	// Rule is an index of Program.Rules, or None.
	Rule int
}

// None is Row.Rule where nothing is known.
const None = -1

// Rule is a rule.Rule of no more than the size that it needs, with its source.
type Rule struct {
	CFA, RA rule.Register
	// Regs are the registers that the rule speaks of, in order of their number.
	Regs  []rule.Register
	Flags rule.Flags // of these SignalFrame and SignedRA
	// Source is the name of the unwind source that gave the rule: cfi, ehabi, code.
	Source string
}

// Of returns what the rule says of a register, Unspecified where nothing.
func (r *Rule) Of(reg cpu.Reg) rule.Register {
	i, ok := slices.BinarySearchFunc(r.Regs, reg, func(r rule.Register, reg cpu.Reg) int { return cmp.Compare(r.Reg, reg) })
	if !ok {
		return rule.Register{Reg: reg, Base: cpu.NoReg}
	}
	return r.Regs[i]
}

// At returns the rule at an image address, nil where none is known.
func (p *Program) At(pc uint64) *Rule {
	i, exact := slices.BinarySearchFunc(p.Functions, pc, func(f Function, pc uint64) int { return cmp.Compare(f.Start, pc) })
	if !exact {
		i--
	}
	if i < 0 || pc >= p.Functions[i].End {
		return nil
	}
	rows := p.Functions[i].Rows
	j, exact := slices.BinarySearchFunc(rows, pc, func(r Row, pc uint64) int { return cmp.Compare(r.Addr, pc) })
	if !exact {
		j--
	}
	if j < 0 || rows[j].Rule == None {
		return nil
	}
	return &p.Rules[rows[j].Rule]
}

// RowEnd is where a row of the function ends.
func (f *Function) RowEnd(i int) uint64 {
	if i+1 < len(f.Rows) {
		return f.Rows[i+1].Addr
	}
	return f.End
}
