package x86

import "github.com/backsight/backsight/cpu"

// row lays registers side by side from offset off; NoReg leaves a hole.
func row(slots []cpu.Slot, off, size int, regs ...cpu.Reg) []cpu.Slot {
	for _, r := range regs {
		if r != cpu.NoReg {
			slots = append(slots, cpu.Slot{Reg: r, Offset: off, Size: size})
		}
		off += size
	}
	return slots
}

// hole stands for a field that no backtrace needs: a segment, orig_ax, trapno.
const hole = cpu.NoReg

// prstatus64 is struct user_regs_struct of Linux's arch/x86/include/asm/user_64.h.
func prstatus64() cpu.Layout {
	return cpu.Layout{Size: 27 * 8, Slots: row(nil, 0, 8,
		R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI,
		hole, RIP, hole, RFLAGS, RSP)} // orig_ax, cs; then ss and the segments
}

// prstatus32 is struct user_regs_struct of user_32.h.
func prstatus32() cpu.Layout {
	return cpu.Layout{Size: 17 * 4, Slots: row(nil, 0, 4,
		EBX, ECX, EDX, ESI, EDI, EBP, EAX, hole, hole, hole, hole, // ds, es, fs, gs
		hole, EIP, hole, EFLAGS, ESP)} // orig_ax, cs; then ss
}

// netBSDRegs64 is the order of NetBSD's sys/arch/amd64/include/frame_regs.h; gs to err, cs and ss are left out.
func netBSDRegs64() cpu.Layout {
	return cpu.Layout{Size: 26 * 8, Slots: row(nil, 0, 8,
		RDI, RSI, RDX, RCX, R8, R9, R10, R11, R12, R13, R14, R15, RBP, RBX, RAX,
		hole, hole, hole, hole, hole, hole, RIP, hole, RFLAGS, RSP)}
}

// freeBSDRegs64 is struct reg of FreeBSD's sys/x86/include/reg.h; trapno to ds, cs and ss are left out.
func freeBSDRegs64() cpu.Layout {
	return cpu.Layout{Size: 22 * 8, Slots: row(nil, 0, 8,
		R15, R14, R13, R12, R11, R10, R9, R8, RDI, RSI, RBP, RBX, RDX, RCX, RAX, hole, hole, RIP, hole, RFLAGS, RSP)}
}

// sigcontext64 is struct sigcontext_64 of Linux's arch/x86/include/uapi/asm/sigcontext.h.
func sigcontext64() cpu.Layout {
	return cpu.Layout{Size: 256, Slots: row(nil, 0, 8,
		R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, RFLAGS)}
}

// sigcontext32 is struct sigcontext_32. Of its two stack pointers the first
// counts: the kernel restores sp and ignores sp_at_signal.
func sigcontext32() cpu.Layout {
	return cpu.Layout{Size: 22 * 4, Slots: row(nil, 0, 4,
		hole, hole, hole, hole, // gs, fs, es, ds
		EDI, ESI, EBP, ESP, EBX, EDX, ECX, EAX,
		hole, hole, EIP, hole, EFLAGS)} // trapno, err; cs; then sp_at_signal, ss
}

// gdbPacket64 is GDB's org.gnu.gdb.i386.core and .sse in 64-bit order
// (gdb/features/i386/64bit-core.xml). Stubs append more, such as fs_base.
func gdbPacket64() cpu.Layout {
	slots := row(nil, 0, 8,
		RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP)
	const (
		eflags    = 17 * 8
		segments  = 6 * 4
		x87       = 8*10 + 8*4
		sse       = 16*16 + 4
		blockSize = eflags + 4 + segments + x87 + sse
	)
	return cpu.Layout{Size: blockSize, Slots: row(slots, eflags, 4, RFLAGS)}
}

// gdbPacket32 is the same in 32-bit order (32bit-core.xml).
func gdbPacket32() cpu.Layout {
	const (
		core = 16 * 4
		x87  = 8*10 + 8*4
		sse  = 8*16 + 4
	)
	return cpu.Layout{Size: core + x87 + sse, Slots: row(nil, 0, 4,
		EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP, EFLAGS)}
}

// darwinThread64 is x86_thread_state64_t (mach/i386/_structs.h); cs, fs and gs follow.
func darwinThread64() cpu.Layout {
	return cpu.Layout{Size: 21 * 8, Slots: row(nil, 0, 8,
		RAX, RBX, RCX, RDX, RDI, RSI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP, RFLAGS)}
}

// darwinThread32 is x86_thread_state32_t; ss stands before the flags, cs and the others follow.
func darwinThread32() cpu.Layout {
	return cpu.Layout{Size: 16 * 4, Slots: row(nil, 0, 4,
		EAX, EBX, ECX, EDX, EDI, ESI, EBP, ESP, hole, EFLAGS, EIP)}
}

// minidumpContext64 is CONTEXT of Windows' winnt.h: six parameters, flags, mxcsr, segments, EFlags at 68, debug
// registers, then the general registers at 120. What writers leave out behind (LLDB writes 720 bytes) is vectors.
func minidumpContext64() cpu.Layout {
	slots := row([]cpu.Slot{{Reg: RFLAGS, Offset: 68, Size: 4}}, 120, 8,
		RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, RIP)
	return cpu.Layout{Size: 256, Slots: slots}
}

// minidumpContext32 is CONTEXT of 32 bits: flags, debug registers, the x87's state, segments, then at 156 the general
// registers.
func minidumpContext32() cpu.Layout {
	return cpu.Layout{Size: 204, Slots: row(nil, 156, 4, EDI, ESI, EBX, EDX, ECX, EAX, EBP, EIP, hole, EFLAGS, ESP)}
}

// switched64 is struct inactive_task_frame of Linux's arch/x86/include/asm/switch_to.h,
// to which the task's stack pointer points.
func switched64() cpu.Layout {
	return cpu.Layout{Size: 7 * 8, Slots: row(nil, 0, 8, R15, R14, R13, R12, RBX, RBP, RIP)}
}

// switched32 is the same of 32 bits (flags first, since Linux 5.1).
func switched32() cpu.Layout {
	return cpu.Layout{Size: 6 * 4, Slots: row(nil, 0, 4, hole, ESI, EDI, EBX, EBP, EIP)}
}
