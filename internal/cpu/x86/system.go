package x86

import "github.com/backsight/backsight/cpu"

// system is rows 0, 2 and 3 of the 0F map, where the operating system's
// instructions are: transfers to and from the kernel, state, counters.
func (in twoByteDecoder) system(out *cpu.Insn, next uint64) bool {
	ax, cx, dx := in.acc(), in.gpr(1), in.gpr(2)
	switch in.op {
	case 0x00:
		if in.group() < 2 { // sldt, str
			in.storeWord(out, next)
		}
	case 0x01:
		in.group7(out, next)
	case 0x02, 0x03: // lar, lsl
		clobber1(out, in.reg())
	case 0x05: // syscall returns rip in rcx and the flags in r11
		out.Op, out.List = cpu.OpSyscall, cpu.SetOf(ax, cx)
		if in.long {
			out.List = out.List.With(R11)
		}
	case 0x07, 0x35: // sysret, sysexit
		out.Op, out.Flags = cpu.OpReturn, cpu.FlagException
	case 0x0b: // ud2
		out.Op = cpu.OpTrap
	case 0x20, 0x21, 0x24: // mov from control, debug, test registers
		clobber1(out, in.rm())
	case 0x31, 0x32, 0x33: // rdtsc, rdmsr, rdpmc
		clobber(out, cpu.SetOf(ax, dx))
	case 0x34: // sysenter: the kernel returns with eip from edx and esp from ecx
		out.Op, out.List = cpu.OpSyscall, cpu.SetOf(ax, cx, dx)
	case 0x37: // getsec
		clobber(out, cpu.SetOf(ax, in.gpr(3), cx))
	}
	return true
}

// storeWord stores 16 bits; a register gets them extended.
func (in twoByteDecoder) storeWord(out *cpu.Insn, next uint64) {
	if in.isReg() {
		clobber1(out, in.rm())
		return
	}
	in.store(out, next, cpu.NoReg, 2)
}

// group7 is 0F 01.
func (in twoByteDecoder) group7(out *cpu.Insn, next uint64) {
	switch g := in.group(); {
	case g == 4: // smsw
		in.storeWord(out, next)
	case in.isReg():
		in.group7Reg(out)
	case g < 2: // sgdt, sidt
		in.store(out, next, cpu.NoReg, in.word()+2)
	}
}

// group7Reg are the instructions that a whole ModRM byte of 0F 01 names.
func (in twoByteDecoder) group7Reg(out *cpu.Insn) {
	ax, cx, dx, bx := in.acc(), in.gpr(1), in.gpr(2), in.gpr(3)
	switch in.modrm {
	case 0xc0, 0xc1, 0xcf, 0xd7, 0xd9: // enclv, vmcall, encls, enclu, vmmcall
		clobber(out, cpu.SetOf(ax, bx, cx, dx))
	case 0xc5: // pconfig
		clobber(out, cpu.SetOf(ax, bx, cx, dx))
	case 0xca: // eretu, erets; else clac
		if in.rep != 0 {
			out.Op, out.Flags = cpu.OpReturn, cpu.FlagException
		}
	case 0xcc, 0xcd: // tdcall, seamret
		if in.opsize() {
			clobber(out, cpu.SetOf(ax, cx, dx, R8, R9, R10, R11))
		}
	case 0xd0, 0xee, 0xfd: // xgetbv, rdpkru, rdpru and rmpquery
		clobber(out, cpu.SetOf(ax, cx, dx))
		if in.modrm != 0xfd {
			out.List = cpu.SetOf(ax, dx)
		}
	case 0xec: // uiret
		if in.rep == 0xf3 {
			out.Op, out.Flags = cpu.OpReturn, cpu.FlagException
		}
	case 0xf9: // rdtscp
		clobber(out, cpu.SetOf(ax, cx, dx))
	case 0xfe, 0xff: // rmpadjust, rmpupdate, pvalidate, psmash
		if in.rep != 0 {
			clobber1(out, ax)
		}
	}
}
