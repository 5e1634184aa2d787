package discover

import (
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// InSymbol is where the function begins that a symbol with a size says a place is of; false where no symbol does.
func (e *Entries) InSymbol(pc uint64) (start disasm.Addr, ok bool) {
	lo, _, mode, ok := e.code.Img.Symbols.FunctionAt(pc)
	return disasm.Addr{PC: lo, Mode: mode}, ok
}

// EndsBehind tells whether the function of an instruction at pc ends in front of the next: the symbol does that has the instruction,
// or a function certainly begins at the next.
func (e *Entries) EndsBehind(pc uint64, next disasm.Addr) bool {
	if _, hi, _, ok := e.code.Img.Symbols.FunctionAt(pc); ok {
		return next.PC >= hi
	}
	return e.IsEntry(next)
}

// CalledBelow are the nearest subroutines at or below a place, nearest first, within the symbol that has the place: assembly
// calls labels in the middle of what has a symbol.
func (e *Entries) CalledBelow(at disasm.Addr) []uint64 {
	start, hi, mode, ok := e.code.Img.Symbols.FunctionAt(at.PC)
	if !ok || mode != at.Mode {
		return nil
	}
	entry := disasm.Addr{PC: start, Mode: mode}
	all := e.subroutines.Get(entry, func() []uint64 { return calledWithin(e.code, entry, hi) })
	n := sort.Search(len(all), func(i int) bool { return all[i] > at.PC })
	near := slices.Clone(all[max(0, n-nearEntries):n])
	slices.Reverse(near)
	return near
}

// mostOfSymbol bounds how many bytes of a symbol are looked at for calls into the symbol.
const mostOfSymbol = 1 << 16

// calledWithin are, in order, the places behind a symbol's beginning that the symbol's code calls. A call of the next instruction
// reads the PC (i386).
func calledWithin(code disasm.Code, entry disasm.Addr, hi uint64) (list []uint64) {
	disasm.Each(code, entry, min(hi, entry.PC+mostOfSymbol), func(at disasm.Addr, in *cpu.Insn) bool {
		if in.Op == cpu.OpCall && !disasm.IndirectCall(in) {
			to := disasm.Target(in)
			if to.Mode == entry.Mode && to.PC > entry.PC && to.PC < hi && to.PC != at.PC+uint64(in.Len) {
				list = append(list, to.PC)
			}
		}
		return true
	})
	slices.Sort(list)
	return slices.Compact(list)
}
