package disasm

import "github.com/backsight/backsight/cpu"

// withoutBindingCalls makes jumps of the calls by which MIPS's lazy binding stubs go to the
// dynamic linker's resolver (MIPS supplement, chapter 5, "Calling Position-Independent
// Functions"):
//
//	lw t9,-32752(gp); move t7,ra; jalr t9; li t8,79
//
// The resolver goes on to the import with the return address from t7, and never comes back
// behind the call, where the next import's stub stands. Taken for a call, the code would go
// on there with the return address in t7, which a call leaves undefined.
func withoutBindingCalls(c Code, at Addr, buf []cpu.Insn) {
	pc := at.PC
	for i := range buf {
		in := &buf[i]
		if in.Op == cpu.OpCall && in.Dst == c.Arch.LR && in.Target == 0 && in.Src != cpu.NoReg && c.Arch.SelfRegs.Has(in.Src) &&
			bindingCall(c, buf, i, pc, at.Mode) {
			in.Op, in.Dst = cpu.OpJump, cpu.NoReg
		}
		pc += uint64(in.Len)
	}
}

// bindingCall tells whether the instruction before the call buf[i] at pc hands the return
// address on in a register that calls do not preserve, and the delay slot a number.
func bindingCall(c Code, buf []cpu.Insn, i int, pc uint64, mode cpu.Mode) bool {
	size := uint64(buf[i].Len)
	before, slot := c.beside(buf, i-1, Addr{pc - size, mode}), c.beside(buf, i+1, Addr{pc + size, mode})
	return before.Op == cpu.OpMove && before.Src == c.Arch.LR && !c.Arch.Preserved.Has(before.Dst) &&
		slot.Op == cpu.OpConst && slot.Dst != before.Dst && slot.Dst != buf[i].Src
}
