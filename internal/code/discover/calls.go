package discover

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// scanCalls adds the targets of direct calls that one linear pass finds, and returns
// those that may come of a misread byte.
//
// Where instructions have any length, the pass can read a call out of the middle of
// others (a displacement that holds e8), or out of data. The target counts if it is
// aligned as functions are, or an instruction stands there that compilers put first in
// functions (endbr64), or if two calls name it.
//
// MIPS linkers place tables of names and constants in the executable segment. Words of
// these that no call of this image can be do not count, see possible.
func (c *collector) scanCalls() (single keys) {
	var doubtful []uint64
	mode := cpu.Mode(0)
	if c.code.Arch.ModeOnly {
		mode = 1
	}
	calls(c.code, mode, func(r *cpu.CallRef) {
		if !c.possible(r) {
			return
		}
		to := disasm.Addr{PC: r.Target, Mode: r.TargetMode}
		if c.code.Arch.InsnAlign > 1 || to.PC%16 == 0 && !r.Doubt || marked(c.code, to.PC) {
			c.add(to)
			return
		}
		doubtful = append(doubtful, to.Key())
	})
	return c.addRepeated(doubtful)
}

// possible tells whether an instruction that reads as a call can be one in this image.
// A file that is loaded anywhere has no calls that hold an absolute address (jal), and one
// whose code is of one ISA mode has none into another: 74007268 in gawk's .dynstr, "hr\0t",
// reads as jalx into the middle of yyparse.
func (c *collector) possible(r *cpu.CallRef) bool {
	img := c.code.Img
	return !(img.Relocatable && r.Absolute) && !(img.OneMode && r.TargetMode != 0)
}

// scanChunk is how many bytes are searched for calls at a time, which bounds the memory
// for those found.
const scanChunk = 1 << 20

// calls calls visit for every direct call that a linear pass over the text finds.
func calls(code disasm.Code, mode cpu.Mode, visit func(r *cpu.CallRef)) {
	var refs []cpu.CallRef
	code.Text(func(addr uint64, text []byte) {
		for len(text) > 0 {
			n := min(scanChunk, len(text))
			refs = code.Arch.Decoder.Calls(text[:n], addr, mode, refs[:0])
			for i := range refs {
				visit(&refs[i])
			}
			addr, text = addr+uint64(n), text[n:]
		}
	})
}

// marked tells whether an instruction that compilers put first in functions stands at pc.
func marked(code disasm.Code, pc uint64) bool {
	var in cpu.Insn
	return code.One(disasm.Addr{PC: pc}, &in) && in.Flags&cpu.FlagEntry != 0
}

// addRepeated adds the targets that are named more than once and returns the others that
// the image has code for.
func (c *collector) addRepeated(targets []uint64) (single keys) {
	slices.Sort(targets)
	for i := 0; i < len(targets); {
		n := 1
		for i+n < len(targets) && targets[i+n] == targets[i] {
			n++
		}
		if to := c.code.Addr(targets[i]); n > 1 {
			c.add(to)
		} else if c.code.Has(to.PC) {
			single = append(single, targets[i])
		}
		i += n
	}
	return slices.Clip(single)
}

// maxReturns bounds the calls of one function whose return addresses are worth trying.
const maxReturns = 8

// ReturnsOf are the addresses that the direct calls of the function at entry return to;
// none where there are more than 8.
func (e *Entries) ReturnsOf(entry disasm.Addr) (returns []uint64) {
	var refs []cpu.CallRef
	e.code.Text(func(addr uint64, text []byte) {
		refs = e.code.Arch.Decoder.Calls(text, addr, entry.Mode, refs[:0])
		for _, r := range refs {
			if r.Target != entry.PC || r.TargetMode != entry.Mode || len(returns) > maxReturns {
				continue
			}
			if pc, ok := e.code.ReturnAddress(disasm.Addr{PC: r.Site, Mode: entry.Mode}); ok {
				returns = append(returns, pc)
			}
		}
	})
	if len(returns) > maxReturns {
		return nil
	}
	return returns
}
