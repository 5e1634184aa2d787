package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// scanCalls adds the targets of direct calls that one linear pass finds, and returns
// those that may come of a misread byte.
//
// Where instructions have any length, what reads as a call can lie inside of others (a
// displacement that holds e8), or be data. Of the calls that name a place the first are
// looked at closely, until the place is known. A call in step with the code before counts if
// an instruction stands at its target that compilers put first in functions (endbr64), if
// the target is aligned as functions are and the call stands far from data, or if it is
// the second that names the target.
//
// MIPS linkers place tables of names and constants in the executable segment. Words of
// these that no call of this image can be do not count, see possible.
func (c *collector) scanCalls() (single keys) {
	once, more := disasm.NewSet(c.code), disasm.NewSet(c.code)
	mode := cpu.Mode(0)
	if c.code.Arch.ModeOnly {
		mode = 1
	}
	steps := disasm.NewCallSteps(c.code, mode)
	c.code.Calls(mode, func(r *cpu.CallRef) bool {
		to := disasm.Addr{PC: r.Target, Mode: r.TargetMode}
		if c.found.Has(to) || !c.possible(r) {
			return true
		}
		call, clean := steps.At(r.Site)
		switch {
		case !call:
		case c.code.Arch.InsnAlign > 1, clean && to.PC%functionAlign == 0, marked(c.code, to.PC), !once.Add(to) && more.Add(to):
			c.add(to)
		}
		return true
	})
	if single = once.Without(more); len(single) > someSingle+textSize(c.code)/64 {
		return nil
	}
	return single
}

// someSingle, and one for each 64 bytes of code, is how many places that one call each
// names are worth to be kept: more are no functions.
const someSingle = 1 << 12

// functionAlign is how GCC and clang align functions on x86, in bytes.
const functionAlign = 16

// possible tells whether an instruction that reads as a call can be one in this image.
// A file that is loaded anywhere has no calls that hold an absolute address (jal), and one
// whose code is of one ISA mode has none into another: 74007268 in gawk's .dynstr, "hr\0t",
// reads as jalx into the middle of yyparse.
func (c *collector) possible(r *cpu.CallRef) bool {
	img := c.code.Img
	return !(img.Relocatable && r.Absolute) && !(img.OneMode && r.TargetMode != 0)
}

// marked tells whether an instruction that compilers put first in functions stands at pc.
func marked(code disasm.Code, pc uint64) bool {
	var in cpu.Insn
	return code.One(disasm.Addr{PC: pc}, &in) && in.Flags&cpu.FlagEntry != 0
}

// maxReturns bounds the calls of one function whose return addresses are worth trying.
const maxReturns = 8

// ReturnsCost is what ReturnsOf costs the first time, in instructions that an analysis
// executes meanwhile: a pass through the text.
func (e *Entries) ReturnsCost() int { return textSize(e.code) / 64 }

// ReturnsOf are the addresses that the direct calls of the function at entry return to;
// none where there are more than 8.
func (e *Entries) ReturnsOf(entry disasm.Addr) []uint64 {
	return e.returns.Get(entry, func() []uint64 { return returnsOf(e.code, entry) })
}

func returnsOf(code disasm.Code, entry disasm.Addr) (returns []uint64) {
	steps := disasm.NewCallSteps(code, entry.Mode)
	code.Calls(entry.Mode, func(r *cpu.CallRef) bool {
		if r.Target != entry.PC || r.TargetMode != entry.Mode {
			return true
		}
		if call, _ := steps.At(r.Site); call {
			if pc, ok := code.ReturnAddress(disasm.Addr{PC: r.Site, Mode: entry.Mode}); ok {
				returns = append(returns, pc)
			}
		}
		return len(returns) <= maxReturns
	})
	if len(returns) > maxReturns {
		return nil
	}
	return returns
}
