package pclntab

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pclntab"
)

// change is what a function that sets SP to anything (Function.WritesSP) has done to SP at a place. The table counts SP
// rightly up to the instruction that sets it. Behind, a register may hold what SP was: nanotime1 calls the vDSO,
// which is C, on the thread's own stack, and finds its stack again in a register that C preserves.
type change struct {
	made   bool
	height int64   // how far SP was below where the function was called, before
	kept   cpu.Reg // a register with a place in the frame; NoReg: there is none
	rest   int64   // how far that place is below where the function was called
}

// maxSwitch bounds the code of a function that changes stacks, in bytes; the longest has some hundred.
const maxSwitch = 4 << 10

// changeAt reads f's code up to pc in the order of addresses: the runtime's functions that change stacks have one
// place where they do, and what stands before it runs on the stack that f was called on. ok is false where the code
// or the table does not tell.
func changeAt(img *image.Image, f *pclntab.Function, pc uint64) (c change, ok bool) {
	code := img.Segments.Code(f.Lo)
	code = code[:min(len(code), int(min(f.Hi-f.Lo, maxSwitch)))]
	c.kept = cpu.NoReg
	var buf [16]cpu.Insn
	for at := f.Lo; at < pc; {
		n := 0
		if at-f.Lo < uint64(len(code)) {
			n = img.Arch.Decoder.Decode(code[at-f.Lo:], at, 0, buf[:])
		}
		if n == 0 {
			return c, false
		}
		for i := 0; i < n && at < pc; i++ {
			height, counted := f.Height(at)
			if !c.made && !counted {
				return c, false
			}
			c.follow(img.Arch, &buf[i], height)
			at += uint64(buf[i].Len)
		}
	}
	return c, true
}

// follow looks what an instruction does to SP, which lies height bytes below where the function was called.
func (c *change) follow(arch *cpu.Arch, in *cpu.Insn, height int64) {
	fromSP := in.Src == arch.SP && (in.Op == cpu.OpMove || in.Op == cpu.OpAddImm)
	switch {
	case c.made:
	case fromSP && c.kept == cpu.NoReg && in.Dst != arch.SP && arch.Preserved.Has(in.Dst):
		c.kept, c.rest = in.Dst, height
		if in.Op == cpu.OpAddImm {
			c.rest -= in.Imm
		}
		return
	case in.Writes(arch.SP) && (in.Raises(arch.SP) == 0 || in.Dst == arch.SP && in.Op != cpu.OpAddImm), in.Op == cpu.OpLeave:
		c.made, c.height = true, height
	}
	if in.Writes(c.kept) {
		c.kept = cpu.NoReg
	}
}
