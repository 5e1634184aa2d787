package mips

import "github.com/backsight/backsight/cpu"

func layouts(a abi, big bool) map[cpu.Carrier]cpu.Layout {
	return map[cpu.Carrier]cpu.Layout{
		cpu.LinuxPrstatus:   prstatus(a),
		cpu.LinuxSigcontext: sigcontext(a, big),
		cpu.GDBPacket:       gdbPacket(a),
		cpu.LinuxSwitch:     switched(a),
		cpu.LinuxEntry:      entry(a),
		cpu.MinidumpContext: minidumpContext(a, big),
	}
}

// general lists the 32 general registers, stride bytes apart from offset on.
func general(offset, stride, size int) []cpu.Slot {
	slots := make([]cpu.Slot, 0, regCount)
	for r := Zero; r <= RA; r++ {
		slots = append(slots, cpu.Slot{Reg: r, Offset: offset + stride*int(r), Size: size})
	}
	return slots
}

// consecutive appends slots for regs, each size bytes, from offset on.
func consecutive(slots []cpu.Slot, offset, size int, regs ...cpu.Reg) []cpu.Slot {
	for i, r := range regs {
		slots = append(slots, cpu.Slot{Reg: r, Offset: offset + i*size, Size: size})
	}
	return slots
}

// prstatus is elf_gregset_t of arch/mips/include/asm/elf.h and uapi/asm/reg.h:
// 45 words. o32 keeps the six argument words of IRIX in front (MIPS32_EF_R0 is
// 6, MIPS64_EF_R0 is 0).
func prstatus(a abi) cpu.Layout {
	w, first := a.regSize, 0
	if a.regSize == 4 {
		first = 6
	}
	slots := general(first*w, w, w)
	slots = consecutive(slots, (first+32)*w, w, LO, HI, PC, BadVAddr, Status, Cause)
	return cpu.Layout{Size: 45 * w, Slots: slots}
}

// sigcontext is struct sigcontext of arch/mips/include/uapi/asm/sigcontext.h.
//
// o32: regmask, status, then 64-bit fields even on 32-bit kernels: pc, regs[32],
// fpregs[32], five words, mdhi at 552, mdlo. A 64-bit kernel stores them
// sign-extended, so only the low half is read. The first two are marked unused:
// setup_sigcontext of arch/mips/kernel/signal.c does not write them, so sc_status
// holds what was on the stack before and has no slot here.
//
// n32, n64: regs[32], fpregs[32], mdhi, hi1–hi3, mdlo, lo1–lo3, pc.
func sigcontext(a abi, big bool) cpu.Layout {
	if a.regSize == 8 {
		slots := general(0, 8, 8)
		slots = append(slots, cpu.Slot{Reg: HI, Offset: 512, Size: 8},
			cpu.Slot{Reg: LO, Offset: 544, Size: 8}, cpu.Slot{Reg: PC, Offset: 576, Size: 8})
		return cpu.Layout{Size: 600, Slots: slots}
	}
	low := 0 // offset of the low half of a 64-bit field
	if big {
		low = 4
	}
	slots := general(16+low, 8, 4)
	slots = append(slots, cpu.Slot{Reg: PC, Offset: 8 + low, Size: 4},
		cpu.Slot{Reg: HI, Offset: 552 + low, Size: 4}, cpu.Slot{Reg: LO, Offset: 560 + low, Size: 4})
	return cpu.Layout{Size: 592, Slots: slots}
}

// minidumpContext is MDRawContextMIPS: flags, a word, then 64-bit fields for both widths: iregs[32], mdhi, mdlo, 32 bytes
// of the DSP, epc, badvaddr; status and cause have 32 bits. Of 32-bit registers the low half is read, which is what o32
// has, sign-extended or not.
func minidumpContext(a abi, big bool) cpu.Layout {
	low := 0
	if a.regSize == 4 && big {
		low = 4
	}
	slots := general(8+low, 8, a.regSize)
	slots = append(slots, cpu.Slot{Reg: HI, Offset: 264 + low, Size: a.regSize}, cpu.Slot{Reg: LO, Offset: 272 + low, Size: a.regSize},
		cpu.Slot{Reg: PC, Offset: 312 + low, Size: a.regSize}, cpu.Slot{Reg: BadVAddr, Offset: 320 + low, Size: a.regSize})
	slots = consecutive(slots, 328, 4, Status, Cause)
	return cpu.Layout{Size: 600, Slots: slots}
}

// gdbPacket is the order of GDB's org.gnu.gdb.mips.cpu and .cp0 features:
// r0–r31, status, lo, hi, badvaddr, cause, pc; floating point follows. Stubs of
// n32 programs send 64-bit registers.
func gdbPacket(a abi) cpu.Layout {
	w := a.regSize
	slots := consecutive(general(0, w, w), 32*w, w, Status, LO, HI, BadVAddr, Cause, PC)
	return cpu.Layout{Size: 38 * w, Slots: slots}
}

// switched is reg16 to reg23, reg29, reg30 and reg31 of struct thread_struct
// (arch/mips/include/asm/processor.h). The task goes on where RA says.
func switched(a abi) cpu.Layout {
	w := a.regSize
	return cpu.Layout{Size: 11 * w, Slots: consecutive(nil, 0, w, S0, S1, S2, S3, S4, S5, S6, S7, SP, S8, PC)}
}

// entry is struct pt_regs of arch/mips/include/asm/ptrace.h; 32-bit kernels have room for arguments in front.
func entry(a abi) cpu.Layout {
	w, first := a.regSize, 0
	if w == 4 {
		first = 8 * w
	}
	slots := consecutive(general(first, w, w), first+32*w, w, Status, HI, LO, BadVAddr, Cause, PC)
	return cpu.Layout{Size: first + 38*w, Slots: slots}
}
