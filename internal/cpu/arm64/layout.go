package arm64

import "github.com/backsight/backsight/cpu"

func layouts() map[cpu.Carrier]cpu.Layout {
	return map[cpu.Carrier]cpu.Layout{
		// struct user_pt_regs (Linux uapi/asm/ptrace.h): regs[31], sp, pc, pstate.
		cpu.LinuxPrstatus: block(0, 8),
		// struct sigcontext (uapi/asm/sigcontext.h): fault_address comes first;
		// behind the registers follow the records of FP and SVE state.
		cpu.LinuxSigcontext: block(8, 8),
		// org.gnu.gdb.aarch64.core: cpsr is 32 bits wide. The vector registers
		// that most stubs send behind it are not described.
		cpu.GDBPacket: block(0, 4),
		// arm_thread_state64_t (Darwin's mach/arm/_structs.h): x[29], fp, lr, sp, pc, cpsr.
		cpu.DarwinThread:    block(0, 4),
		cpu.LinuxSwitch:     switched(),
		cpu.MinidumpContext: minidumpContext(),
		// struct reg of both: x[30], lr, sp, pc, spsr; tpidr follows in NetBSD's.
		cpu.NetBSDRegs:  block(0, 4),
		cpu.FreeBSDRegs: block(0, 4),
	}
}

// block lays out x0..x30, sp, pc, pstate as consecutive words behind skip bytes.
// Registers are numbered in that order.
func block(skip, pstateSize int) cpu.Layout {
	l := cpu.Layout{Slots: make([]cpu.Slot, 0, PSTATE+1)}
	for r := X0; r < PSTATE; r++ {
		l.Slots = append(l.Slots, cpu.Slot{Reg: r, Offset: skip + 8*int(r), Size: 8})
	}
	l.Size = skip + 8*int(PSTATE) + pstateSize
	l.Slots = append(l.Slots, cpu.Slot{Reg: PSTATE, Offset: l.Size - pstateSize, Size: pstateSize})
	return l
}

// minidumpContext is ARM64_NT_CONTEXT: flags and cpsr, 32 bits each, x0 to x30, sp, pc, vectors. Breakpad's older
// MDRawContextARM64_Old has flags of 64 bits and cpsr behind the PC; which of the two a block is, its size tells, and
// cpsr tells no more than whether code is AArch64's.
func minidumpContext() cpu.Layout {
	l := block(8, 4)
	l.Slots = l.Slots[:len(l.Slots)-1]
	return l
}

// switched is struct cpu_context of Linux's arch/arm64/include/asm/processor.h: x19 to
// x28, fp, sp, pc.
func switched() cpu.Layout {
	l := cpu.Layout{Size: 13 * 8}
	for i := range 11 {
		l.Slots = append(l.Slots, cpu.Slot{Reg: X19 + cpu.Reg(i), Offset: 8 * i, Size: 8})
	}
	l.Slots = append(l.Slots, cpu.Slot{Reg: SP, Offset: 11 * 8, Size: 8}, cpu.Slot{Reg: PC, Offset: 12 * 8, Size: 8})
	return l
}
