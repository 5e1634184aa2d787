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
	c.kept = cpu.NoReg
	ok = instructions(img, f, pc, func(at uint64, in *cpu.Insn) bool {
		height, counted := f.Height(at)
		c.follow(img.Arch, in, height)
		return c.made || counted
	})
	return c, ok
}

// lowered is how far f's code up to pc has lowered SP, which the table does not count everywhere: rt0_go's "sub $40,%rsp" is
// an instruction like any other to the assembler, and where C calls it, the "and $-16,%rsp" behind changes nothing. saved is how
// far below where f was called the code has put the link register; 0: nowhere.
func lowered(img *image.Image, f *pclntab.Function, pc uint64) (by, saved int64, ok bool) {
	sp, lr := img.Arch.SP, img.Arch.LR
	ok = instructions(img, f, pc, func(_ uint64, in *cpu.Insn) bool {
		if lr != cpu.NoReg && in.Op == cpu.OpStore && in.Src == lr && in.Base == sp {
			saved = by - in.Imm
		}
		by -= in.Raises(sp)
		return in.Op == cpu.OpAndImm || !in.Writes(sp) || in.Raises(sp) != 0
	})
	return by, saved, ok
}

// instructions calls visit for f's instructions up to pc in the order of addresses, until visit returns false; ok is false
// then, and where the code cannot be read.
func instructions(img *image.Image, f *pclntab.Function, pc uint64, visit func(at uint64, in *cpu.Insn) bool) (ok bool) {
	code := img.Segments.Code(f.Lo)
	code = code[:min(len(code), int(min(f.Hi-f.Lo, maxSwitch)))]
	var buf [16]cpu.Insn
	for at := f.Lo; at < pc; {
		n := 0
		if at-f.Lo < uint64(len(code)) {
			n = img.Arch.Decoder.Decode(code[at-f.Lo:], at, 0, buf[:])
		}
		if n == 0 {
			return false
		}
		for i := 0; i < n && at < pc; i++ {
			if !visit(at, &buf[i]) {
				return false
			}
			at += uint64(buf[i].Len)
		}
	}
	return true
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
