package disasm

import "github.com/backsight/backsight/cpu"

// maxProbe bounds a loop of stack probes, in bytes.
const maxProbe = 32

// Probes tells whether a conditional jump closes a loop that does nothing but lower SP and touch the stack there, until SP is
// at a limit that the code has computed before, and by how much SP is lowered each time. Compilers make so the frames that
// are larger than a few pages (-fstack-clash-protection; all of Rust):
//
//	lea -0x30000(%rsp),%r11
//	1: sub $0x1000,%rsp; orq $0,(%rsp); cmp %r11,%rsp; jne 1b
//	sub $0xd40,%rsp
func Probes(c Code, jump *cpu.Insn, pc uint64) (by int64, ok bool) {
	to := Target(jump)
	if jump.Op != cpu.OpJump || jump.Flags&cpu.FlagConditional == 0 || IndirectJump(jump) || to.PC >= pc || pc-to.PC > maxProbe {
		return 0, false
	}
	sp := c.Arch.SP
	var buf [8]cpu.Insn
	n := c.Decode(to, buf[:])
	for i := range n {
		in := &buf[i]
		switch {
		case to.PC == pc:
			return by, by > 0
		case in.Op == cpu.OpAddImm && in.Dst == sp && in.Src == sp && in.Imm < 0:
			by -= in.Imm
		case in.Op == cpu.OpStore && in.WB == 0, in.Op == cpu.OpNop:
		default:
			return 0, false
		}
		to.PC += uint64(in.Len)
	}
	return 0, false
}
