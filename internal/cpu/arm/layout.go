package arm

import "github.com/backsight/backsight/cpu"

// coreSlots places r0–r15 and the status register in consecutive words from
// offset on: the order of struct pt_regs, of struct sigcontext and of GDB.
func coreSlots(offset int) []cpu.Slot {
	slots := make([]cpu.Slot, 0, CPSR+1)
	for r := R0; r <= CPSR; r++ {
		slots = append(slots, cpu.Slot{Reg: r, Offset: offset + 4*int(r), Size: 4})
	}
	return slots
}

// prstatus is elf_gregset_t: struct pt_regs of Linux's
// arch/arm/include/uapi/asm/ptrace.h with r0–r15, cpsr and orig_r0.
func prstatus() cpu.Layout {
	return cpu.Layout{Size: 18 * 4, Slots: coreSlots(0)}
}

// sigcontext is struct sigcontext of arch/arm/include/uapi/asm/sigcontext.h:
// trap_no, error_code and oldmask, the registers, then fault_address.
func sigcontext() cpu.Layout {
	return cpu.Layout{Size: 21 * 4, Slots: coreSlots(3 * 4)}
}

// minidumpContext is MDRawContextARM: flags, r0 to r15, cpsr, floating point.
func minidumpContext() cpu.Layout {
	return cpu.Layout{Size: 18 * 4, Slots: coreSlots(4)}
}

// gdbPacket is the g packet of the features org.gnu.gdb.arm.core and
// org.gnu.gdb.arm.m-profile as gdbserver, QEMU and OpenOCD send it; the floating
// point registers that may follow are not tracked. (Stubs without a target
// description put eight 12-byte FPA registers and FPS before the CPSR.)
func gdbPacket() cpu.Layout {
	return cpu.Layout{Size: 17 * 4, Slots: coreSlots(0)}
}

// exceptionFrame is the basic frame of v8-M B3.19 "Exception entry, context
// stacking". The pc is the return address: where the interrupted code goes on.
func exceptionFrame() cpu.Layout {
	order := []cpu.Reg{R0, R1, R2, R3, R12, LR, PC, CPSR}
	l := cpu.Layout{Size: 4 * len(order)}
	for i, r := range order {
		l.Slots = append(l.Slots, cpu.Slot{Reg: r, Offset: 4 * i, Size: 4})
	}
	return l
}

// darwinThread is arm_thread_state_t of Darwin's mach/arm/_structs.h.
func darwinThread() cpu.Layout {
	return cpu.Layout{Size: 17 * 4, Slots: coreSlots(0)}
}

// switched is struct cpu_context_save of arch/arm/include/asm/thread_info.h: r4 to r9, sl,
// fp, sp, pc.
func switched() cpu.Layout {
	l := cpu.Layout{Size: 10 * 4}
	for i, r := range []cpu.Reg{R4, R5, R6, R7, R8, R9, R10, R11, SP, PC} {
		l.Slots = append(l.Slots, cpu.Slot{Reg: r, Offset: 4 * i, Size: 4})
	}
	return l
}
