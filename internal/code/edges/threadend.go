package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// maxExit is how many instructions lead to the system call at most.
const maxExit = 8

// EndsThread implements unwind.CallGraph. A thread begins in a system call of glibc's clone,
// which made no frame on the new stack and calls the thread's function. What that function
// returns is the thread's exit status:
//
//	call *%rax
//	mov  %rax,%rdi      ◄─ pc
//	mov  $60,%eax
//	syscall
func (s *Graph) EndsThread(m *target.Module, pc uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	c, exit := disasm.Of(m.Image), m.Image.Arch.ThreadExit
	var buf [maxExit]cpu.Insn
	at := disasm.Addr{PC: inImage(m, pc), Mode: mode}
	exec := absint.New(c)
	var st absint.State
	st.Start(c.Arch)
	for _, in := range buf[:c.Decode(at, buf[:])] {
		if entersKernel(&in, c.Arch) {
			return st.Get(exit.Reg) == absint.Const(exit.Number)
		}
		switch in.Op {
		case cpu.OpNop, cpu.OpConst, cpu.OpMove, cpu.OpAddImm, cpu.OpLoad:
			exec.Exec(&st, &in, at.PC)
		default:
			return false
		}
		at.PC += uint64(in.Len)
	}
	return false
}

// entersKernel tells whether an instruction is a system call. On i386 that may be a call
// through the thread control block, whose address the decoder does not know (glibc,
// sysdeps/unix/sysv/linux/i386/sysdep.h, ENTER_KERNEL): call *%gs:0x10.
func entersKernel(in *cpu.Insn, arch *cpu.Arch) bool {
	if in.Op == cpu.OpCall {
		return arch.PCThunk && in.Flags&cpu.FlagMemory != 0 && in.Base == cpu.NoReg && in.Index == cpu.NoReg && in.Imm == 0
	}
	return in.Op == cpu.OpSyscall
}
