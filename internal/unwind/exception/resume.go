package exception

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

// A task that an interrupt preempted stands in the way out of the trap, behind the kernel's switch (Zephyr on RISC-V:
// z_riscv_thread_start of isr.S). Where this way has no branch and calls nothing, its loads tell all that goes on:
//
//	call z_riscv_switch
//	lw   t0,64(sp)        the PC
//	csrw mepc,t0
//	lw   ra,0(sp) …
//	addi sp,sp,80
//	mret

// resumed executes the way out of a trap from pc on; false where that branches, calls, or needs what is not known.
func resumed(s *stackwalk.State, pc uint64, out *stackwalk.Caller) bool {
	arch := s.Snapshot.Arch
	if !isRISCV(arch) && arch.Name != "mips" {
		return false
	}
	regs := *s.Regs
	regs.Forget(arch.PC)
	const most = 96 // instructions
	var in [1]cpu.Insn
	for range most {
		if arch.Decoder.Decode(s.Module.Image.Segments.Code(pc), pc, s.Mode, in[:]) == 0 {
			return false
		}
		i := &in[0]
		if i.Op == cpu.OpReturn && i.Flags&cpu.FlagException != 0 {
			return goesOn(s, &regs, out)
		}
		if i.Op == cpu.OpCall || i.Op == cpu.OpJump || i.Ends(arch.PC) {
			return false
		}
		execute(s, i, &regs)
		pc += uint64(i.Len)
	}
	return false
}

// execute does to registers what an instruction of a way out does.
func execute(s *stackwalk.State, in *cpu.Insn, regs *cpu.Registers) {
	arch := s.Snapshot.Arch
	var v uint64
	known := false
	switch in.Op {
	case cpu.OpLoad:
		base, ok := regs.Lookup(in.Base)
		if ok && in.Index == cpu.NoReg && int(in.Size) == arch.RegSize && in.Dst2 == cpu.NoReg && in.WB == 0 {
			v, known = s.Snapshot.Memory.Word((base + uint64(in.Imm)) & arch.AddrMask())
		}
	case cpu.OpMove:
		v, known = regs.Lookup(in.Src)
	case cpu.OpAddImm:
		if v, known = regs.Lookup(in.Src); known {
			v = (v + uint64(in.Imm)) & arch.AddrMask()
		}
	case cpu.OpStore, cpu.OpNop:
		return
	}
	regs.Known &^= in.List
	if in.Dst != cpu.NoReg {
		if regs.Forget(in.Dst); known {
			regs.Set(in.Dst, v)
		}
	}
}

// goesOn takes the registers with which a trap returns, where they can be those of code that was interrupted.
func goesOn(s *stackwalk.State, regs *cpu.Registers, out *stackwalk.Caller) bool {
	arch := s.Snapshot.Arch
	pc, hasPC := regs.Lookup(arch.PC)
	sp, hasSP := regs.Lookup(arch.SP)
	from, had := s.Regs.Lookup(arch.SP)
	_, in := s.Snapshot.Memory.Word(sp - uint64(arch.RegSize))
	if !hasPC || !hasSP || !had || !in || sp <= from || !isCode(s, pc) && !inCall(s, regs) { // a call of no function
		return false
	}
	*out = stackwalk.Caller{Regs: *regs, CFA: sp, HasCFA: true, Exact: true}
	return true
}
