package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
)

// demoteMillicode takes the credit of entries at a point in code that runs as part of
// whichever function called it, if the answers differ. libgcc's helpers for RISC-V run into
// one another, and the frame depends on what each of them sets in t1:
//
//	__riscv_save_4: addi sp,sp,-112; li t1,4; sd s4,64(sp); j 1d4c
//	__riscv_save_2: addi sp,sp,-112; li t1,5
//	1d4c:           sd s2,80(sp); …; slli t1,t1,4; add sp,sp,t1; jr t0
//
// Functions that clang outlined run so with their caller's frame: a caller from which control comes there knows the frame, and the
// rule from the entry of such a function is none. Another caller may have another frame, so that such a rule has no credit, either.
//
//	f:           addi sp,sp,-64; jal t0,OUTLINED_0; …
//	OUTLINED_0:  sd ra,56(sp); sd s0,48(sp); …; jr t0
func (s *search) demoteMillicode() {
	if !s.at.Exact || len(s.forward) == 0 || !inMillicode(s.prog.Code, s.at.Addr()) {
		return
	}
	if slices.ContainsFunc(s.forward, s.forward[0].differs) {
		for _, c := range s.forward {
			c.Flags &^= stackwalk.FromEntry | stackwalk.Straight
		}
	}
	calls := func(c *candidate) bool { return c.sound && !inMillicode(s.prog.Code, c.fn.Entry) }
	i := slices.IndexFunc(s.forward, calls)
	if i < 0 || slices.ContainsFunc(s.forward, func(c *candidate) bool { return calls(c) && c.differs(s.forward[i]) }) {
		return
	}
	caller := s.forward[i]
	caller.Flags |= stackwalk.OfCaller
	s.forward = slices.DeleteFunc(s.forward, func(c *candidate) bool { return !calls(c) && c.differs(caller) })
}

// differs tells whether two rules find the CFA elsewhere.
func (c *candidate) differs(o *candidate) bool {
	return c.CFA.Off != o.CFA.Off || c.CFA.Base != o.CFA.Base
}

// maxJumps bounds the jumps from one helper to the next.
const maxJumps = 12

// inMillicode tells whether code returns by another register than calls of functions use.
func inMillicode(c disasm.Code, at disasm.Addr) bool {
	var buf [16]cpu.Insn
	for range maxJumps {
		n := c.Decode(at, buf[:])
		i := slices.IndexFunc(buf[:n], func(in cpu.Insn) bool { return disasm.Transfers(&in, c.Arch) })
		if i < 0 {
			return false
		}
		in := &buf[i]
		if in.Op == cpu.OpReturn {
			return in.Src != cpu.NoReg && in.Src != c.Arch.LR
		}
		if in.Op != cpu.OpJump || in.Flags&cpu.FlagConditional != 0 || disasm.IndirectJump(in) {
			return false
		}
		at = disasm.Target(in)
	}
	return false
}
