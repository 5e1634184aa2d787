package discover

import (
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxArray bounds the words that are read of an array of functions: libLLVM-14 has 590.
const maxArray = 1 << 14

// arrays adds the functions that run before and after main: .init_array and .fini_array name them (gABI, chapter 5, Initialization
// and Termination Functions). GCC's crtbegin.o is assembled without unwind tables: __do_global_dtors_aux, whose
// callees run as every C++ program ends, is told of nowhere else.
func (c *collector) arrays() {
	size := int(c.code.Arch.AddrSize)
	for _, name := range [...]string{".init_array", ".fini_array"} {
		array, _ := c.code.Img.Sections.Loaded(name)
		for r := bin.New(array.Data[:min(len(array.Data), maxArray*size)], c.code.Arch.BigEndian); r.Len() >= size; {
			if at, ok := pointedTo(c.code, r.Uint(size)); ok {
				c.add(at)
			}
		}
	}
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

// line is such code, with its function's entry.
type line struct {
	entry disasm.Addr
	end   uint64
}

// findLines are, in order, the lines of the functions that arrays name and that neither a symbol nor an unwind table bounds.
func (e *Entries) findLines() (lines []line) {
	c := collector{code: e.code}
	c.arrays()
	for _, key := range sorted(c.keys) {
		at := e.code.Addr(key)
		_, _, _, named := e.code.Img.Symbols.FunctionAt(at.PC)
		if _, _, listed := e.search()(at.PC); !named && !listed {
			lines = append(lines, line{at, lineFrom(e.code, at)})
		}
	}
	return lines
}

// inLine is the entry whose line has a place, and where the next entry is that an array names; false where no line has the place.
func (e *Entries) inLine(pc uint64) (entry disasm.Addr, next uint64, ok bool) {
	lines := e.lines()
	i := sort.Search(len(lines), func(i int) bool { return lines[i].entry.PC > pc })
	if i == 0 || pc >= lines[i-1].end {
		return entry, 0, false
	}
	if next = ^uint64(0); i < len(lines) {
		next = lines[i].entry.PC
	}
	return lines[i-1].entry, next, true
}
