package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxArray bounds the words that are read of an array of functions: libLLVM-14 has 590.
const maxArray = 1 << 14

// arrays adds the functions that run before and after main: .init_array and .fini_array name them (gABI, chapter 5, Initialization
// and Termination Functions), and returns them. GCC's crtbegin.o is assembled without unwind tables: __do_global_dtors_aux, whose
// callees run as every C++ program ends, is told of nowhere else.
func (c *collector) arrays() keys {
	first, size := len(c.keys), int(c.code.Arch.AddrSize)
	for _, name := range [...]string{".init_array", ".fini_array"} {
		array, _ := c.code.Img.Sections.Loaded(name)
		for r := bin.New(array.Data[:min(len(array.Data), maxArray*size)], c.code.Arch.BigEndian); r.Len() >= size; {
			if at, ok := pointedTo(c.code, r.Uint(size)); ok {
				c.add(at)
			}
		}
	}
	return sorted(append(keys{}, c.keys[first:]...))
}

// maxLine bounds the instructions of a line: __do_global_dtors_aux has 16.
const maxLine = 64

// lineFrom is the end of the code that belongs to the function at an entry, and to no other one: nothing up to there ends a function
// or fills what lies between two. Behind a call that does not return another function may begin, where functions are aligned or
// begin with an instruction of their own.
func lineFrom(code disasm.Code, at disasm.Addr) uint64 {
	var buf [2]cpu.Insn
	for range maxLine {
		step, ok := disasm.StepAt(code, at, &buf)
		if !ok || step.In.Op == cpu.OpUnknown || step.In.Flags&cpu.FlagPadding != 0 {
			break
		}
		at.PC = step.Next
		if step.In.Ends(code.Arch.PC) || step.In.Op == cpu.OpCall && (at.PC%functionAlign == 0 || marked(code, at.PC)) {
			break
		}
	}
	return at.PC
}

// without are gaps but for the lines of code that some entries lead to. Both lists are sorted.
func without(gaps []span, code disasm.Code, entries keys) (left []span) {
	for _, gap := range gaps {
		for _, key := range entries.from(gap.lo) {
			at := code.Addr(key)
			if at.PC >= gap.hi {
				break
			}
			if end := min(lineFrom(code, at), gap.hi); at.PC >= gap.lo {
				left, gap.lo = append(left, span{gap.lo, at.PC}), end
			}
		}
		left = append(left, gap)
	}
	return left
}
