package x86

import "github.com/backsight/backsight/cpu"

// twoByteDecoder tells the rarer effects of the map behind 0F.
type twoByteDecoder struct{ shapes }

// twoByte sets the rarer effects of the map behind 0F. The opcodes without a case are vector
// instructions, and instructions that write no general register.
func (in twoByteDecoder) twoByte(out *cpu.Insn, next uint64) bool {
	switch op := in.op; op >> 4 {
	case 0x0, 0x3:
		return in.system(out, next)
	case 0x2:
		if op < 0x28 {
			return in.system(out, next)
		}
		simdDecoder(in).simd0F(out, next)
	case 0x7:
		if op == 0x78 && in.rep == 0 && !in.opsize() { // vmread
			in.writeRM(out, next, in.word())
		} else {
			simdDecoder(in).simd0F(out, next)
		}
	case 0xa, 0xb:
		in.rows0FAB(out, next, in.size())
	case 0xc:
		in.row0FC(out, next, in.size())
	default:
		if op == 0xff { // ud0
			out.Op = cpu.OpTrap
		} else {
			simdDecoder(in).simd0F(out, next)
		}
	}
	return true
}

// row0FC: xadd, movnti, group 9, bswap, and two of the vectors'.
func (in twoByteDecoder) row0FC(out *cpu.Insn, next uint64, size uint8) {
	switch in.op {
	case 0xc0:
		arithmetic(in).exchange(out, 1)
	case 0xc1:
		arithmetic(in).exchange(out, size)
	case 0xc3: // movnti
		in.store(out, next, in.reg(), size)
	case 0xc7:
		in.group9(out, next)
	case 0xc4, 0xc5:
		simdDecoder(in).simd0F(out, next)
	default: // bswap
		clobber1(out, in.gpr(in.opcodeReg()))
	}
}

// hint is 0F 1E: endbr, rdssp, else a nop.
func (in twoByteDecoder) hint(out *cpu.Insn) {
	if in.rep != 0xf3 {
		return
	}
	switch {
	case in.modrm == 0xfa && in.long, in.modrm == 0xfb && !in.long:
		out.Flags |= cpu.FlagEntry
	case in.isReg() && in.group() == 1: // rdssp
		clobber1(out, in.rm())
	}
}

// moveIf is cmov of a register. In 64-bit mode a 32-bit one zero-extends even where
// it does not move; values that matter are not cut off that way.
func (in twoByteDecoder) moveIf(out *cpu.Insn) {
	in.move(out, in.reg(), in.rm(), in.size())
	if out.Flags |= cpu.FlagConditional; out.Op == cpu.OpNop {
		out.Flags = 0
	}
}

// padLock is an instruction of VIA's PadLock: rep xstore, xcrypt, xsha, montmul. Only the last one changes edx, in which
// GnuTLS's code keeps SP around rep xsha1.
func (in twoByteDecoder) padLock(out *cpu.Insn) {
	changed := cpu.SetOf(in.acc(), in.gpr(1), in.gpr(6), in.gpr(7))
	if in.op == 0xa6 && in.group() == 0 {
		changed = changed.With(in.gpr(2))
	}
	clobber(out, changed)
}

// rows0FAB: segments, bits, cmpxchg, extensions.
func (in twoByteDecoder) rows0FAB(out *cpu.Insn, next uint64, size uint8) {
	switch in.op {
	case 0xa0, 0xa8: // push fs, gs
		in.push(out, cpu.NoReg, in.stackSize())
	case 0xa1, 0xa9:
		in.drop(out, in.stackSize())
	case 0xa2: // cpuid
		clobber(out, cpu.SetOf(in.acc(), in.gpr(1), in.gpr(2), in.gpr(3)))
	case 0xa4, 0xa5, 0xac, 0xad: // shld, shrd
		in.writeRM(out, next, size)
	case 0xab, 0xb3, 0xbb: // bts, btr, btc
		if in.isReg() { // with memory the register addresses a string of bits
			clobber1(out, in.rm())
		}
	case 0xba:
		if in.group() > 4 {
			in.writeRM(out, next, size)
		}
	case 0xa6, 0xa7:
		in.padLock(out)
	case 0xaa: // rsm
		out.Op, out.Flags = cpu.OpReturn, cpu.FlagException
	case 0xae:
		in.group15(out, next)
	case 0xb2, 0xb4, 0xb5: // lss, lfs, lgs
		clobber1(out, in.reg())
	case 0xb0:
		in.compareExchange(out, 1)
	case 0xb1:
		in.compareExchange(out, size)
	case 0xb9: // ud1
		out.Op = cpu.OpTrap
	}
}

// zeroExtend is movzx from a register.
func (in twoByteDecoder) zeroExtend(out *cpu.Insn) {
	dst, from := in.reg(), in.op&1+1
	if !wide(in.size()) || from == 1 && in.highByte(in.rmNumber()) {
		clobber1(out, dst)
		return
	}
	out.Op, out.Dst, out.Src, out.Imm = cpu.OpAndImm, dst, in.rm(), 1<<(8*from)-1
}

// compareExchange is cmpxchg.
func (in twoByteDecoder) compareExchange(out *cpu.Insn, size uint8) {
	set := cpu.SetOf(in.acc())
	if in.isReg() {
		set = set.With(in.rmOf(size))
	}
	clobber(out, set)
}

// group9 is 0F C7: cmpxchg8b and 16b, xsavec and xsaves, rdrand, rdseed, rdpid.
func (in twoByteDecoder) group9(out *cpu.Insn, next uint64) {
	switch g := in.group(); {
	case in.isReg() && (g == 7 || g == 6 && in.rep != 0xf3): // F3 /6 is senduipi
		clobber1(out, in.rm())
	case in.isReg():
	case g == 1:
		clobber(out, cpu.SetOf(in.acc(), in.gpr(2)))
	case g == 4 || g == 5:
		in.store(out, next, cpu.NoReg, largeArea)
	case g == 7: // vmptrst
		in.store(out, next, cpu.NoReg, 8)
	}
}

// largeArea stands for the size of a state area that does not fit Size.
const largeArea = 255

// group15 is 0F AE: fxsave, xsave, stmxcsr, fences, the fs and gs bases, CET.
func (in twoByteDecoder) group15(out *cpu.Insn, next uint64) {
	g := in.group()
	if in.isReg() {
		if in.rep == 0xf3 && g < 2 { // rdfsbase, rdgsbase
			clobber1(out, in.rm())
		}
		return
	}
	switch {
	case in.rep != 0: // ptwrite, clrssbsy
	case g == 0, g == 4, g == 6 && !in.opsize(): // 66 /6 is clwb
		in.store(out, next, cpu.NoReg, largeArea)
	case g == 3:
		in.store(out, next, cpu.NoReg, 4)
	}
}
