package x86

import "github.com/backsight/backsight/cpu"

// oneByteDecoder tells the rarer effects of the one-byte map.
type oneByteDecoder struct{ shapes }

// oneByte tells the rarer effects of the one-byte map, by rows.
func (in oneByteDecoder) oneByte(out *cpu.Insn, next uint64) bool {
	switch in.op >> 4 {
	case 0x0, 0x1, 0x2, 0x3:
		in.segmentsAndBCD(out)
	case 0x6:
		in.row6(out, next)
	case 0x8:
		return in.row8(out, next)
	case 0x9:
		in.row9(out, next)
	case 0xa:
		in.rowA(out)
	case 0xb:
		clobber1(out, in.gprOf(in.opcodeReg(), 1))
	case 0xc:
		return in.rowC(out, next)
	case 0xd:
		if in.op < 0xd8 {
			in.rowD(out, next)
		} else {
			in.x87(out, next)
		}
	case 0xe:
		in.rowE(out, next)
	default:
		return in.rowF(out, next)
	}
	return true
}

// segmentsAndBCD is columns 6, 7, E and F of the arithmetic rows, 32-bit mode:
// push and pop of es, cs, ss, ds; daa, das, aaa, aas.
func (in oneByteDecoder) segmentsAndBCD(out *cpu.Insn) {
	switch {
	case in.op >= 0x20:
		clobber1(out, in.acc())
	case in.op&1 == 0:
		in.push(out, cpu.NoReg, in.stackSize())
	default:
		in.drop(out, in.stackSize())
	}
}

// row6: pusha, popa, movslq, port strings.
func (in oneByteDecoder) row6(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0x60:
		// The order is eax first at the top, which no Op says: an area is stored.
		in.push(out, cpu.NoReg, 8*in.stackSize())
	case 0x61:
		clobber(out, cpu.SetOf(EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI))
	case 0x63:
		in.extendWord(out, next)
	case 0x6c, 0x6d: // ins
		in.stringOp(out, in.gpr(7), cpu.NoReg)
	case 0x6e, 0x6f: // outs
		in.stringOp(out, cpu.NoReg, in.gpr(6))
	}
}

// extendWord is 63: movslq in 64-bit mode, else arpl.
func (in oneByteDecoder) extendWord(out *cpu.Insn, next uint64) {
	switch {
	case !in.long:
		in.writeRM(out, next, 2)
	case in.isReg():
		clobber1(out, in.reg())
	case in.w():
		effectDecoder(in).accesses(&movslq, out, next)
	default:
		effectDecoder(in).accesses(&accesses[load], out, next)
	}
}

var movslq = access{op: cpu.OpLoad, src: cpu.NoReg, size: 4, flags: cpu.FlagSigned}

// stringOp clobbers the registers that a string instruction steps, and its
// repeat count.
func (in oneByteDecoder) stringOp(out *cpu.Insn, regs ...cpu.Reg) {
	set := cpu.SetOf(regs...)
	if in.rep != 0 {
		set = set.With(in.gpr(1))
	}
	clobber(out, set)
}

// row8: xchg, mov from a byte or a segment register, pop mem.
func (in oneByteDecoder) row8(out *cpu.Insn, next uint64) bool {
	switch in.op {
	case 0x86:
		arithmetic(in).exchange(out, 1)
	case 0x87:
		in.swap(out, in.reg(), in.rm(), in.size())
	case 0x8a:
		clobber1(out, in.regOf(1))
	case 0x8c: // mov from a segment register
		if in.isReg() {
			clobber1(out, in.rm())
		} else {
			in.store(out, next, cpu.NoReg, 2)
		}
	case 0x8f:
		if in.isReg() {
			in.pop(out, in.rm(), in.stackSize())
		} else {
			in.drop(out, in.stackSize())
		}
		return in.group() == 0
	}
	return true
}

// swap is xchg. With itself it is the long nop (66 90), but for a 32-bit one in
// 64-bit mode, which zero-extends.
func (in oneByteDecoder) swap(out *cpu.Insn, a, b cpu.Reg, size uint8) {
	switch {
	case in.op == 0x87 && !in.isReg():
		clobber1(out, a)
	case a != b:
		clobber(out, cpu.SetOf(a, b))
	case size == 2 && a == b:
		out.Flags |= cpu.FlagPadding
	default:
		in.move(out, a, b, size)
	}
}

// row9: nop, xchg with the accumulator, sign extensions, flags.
func (in oneByteDecoder) row9(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0x90:
		if in.rep == 0xf3 { // pause
			return
		}
		if in.opcodeReg() == 0 {
			out.Flags |= cpu.FlagPadding
			return
		}
		fallthrough
	case 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97:
		in.swap(out, in.acc(), in.gpr(in.opcodeReg()), in.size())
	case 0x98, 0x9f: // cltq, lahf
		clobber1(out, in.acc())
	case 0x99: // cltd
		clobber1(out, in.gpr(2))
	case 0x9a:
		out.Op, out.Target = cpu.OpCall, uint64(in.farOffset())
	case 0x9c:
		in.push(out, cpu.NoReg, in.stackSize())
	case 0x9d:
		in.drop(out, in.stackSize())
	}
}

// farOffset is the offset half of a far pointer.
func (in oneByteDecoder) farOffset() uint32 {
	if in.size() == 2 {
		return uint32(in.imm16())
	}
	return uint32(in.imm32())
}

// rowA: mov with an absolute address, strings, test.
func (in oneByteDecoder) rowA(out *cpu.Insn) {
	if in.enc == rex2 && in.op == 0xa1 {
		out.Op, out.Target = cpu.OpJump, uint64(in.imm64()) // jmpabs
		return
	}
	switch in.op {
	case 0xa0, 0xa1, 0xa2, 0xa3:
		in.absolute(out)
	case 0xa4, 0xa5, 0xa6, 0xa7: // movs, cmps
		in.stringOp(out, in.gpr(6), in.gpr(7))
	case 0xaa, 0xab, 0xae, 0xaf: // stos, scas
		in.stringOp(out, in.gpr(7))
	case 0xac, 0xad: // lods
		in.stringOp(out, in.gpr(6), in.acc())
	}
}

// absolute is mov between the accumulator and an address in the instruction.
func (in oneByteDecoder) absolute(out *cpu.Insn) {
	size := in.size()
	if in.op&1 == 0 {
		size = 1
	}
	known := in.seg == 0 && !in.adsize
	if known {
		out.Imm = in.imm64()
		if !in.long {
			out.Imm = int64(uint32(in.imm32()))
		}
	}
	switch {
	case in.op >= 0xa2 && !known:
	case in.op >= 0xa2:
		out.Op, out.Size = cpu.OpStore, size
		if wide(size) {
			out.Src = in.acc()
		}
	case !known || !wide(size):
		out.Imm = 0
		clobber1(out, in.acc())
	default:
		out.Op, out.Dst, out.Size = cpu.OpLoad, in.acc(), size
		out.Flags |= in.narrow(size)
	}
}

// constToReg is mov of an immediate to a register.
func (in oneByteDecoder) constToReg(out *cpu.Insn) {
	v := in.imm32()
	if in.w() {
		v = in.imm64()
	}
	in.setConst(out, in.gpr(in.opcodeReg()), v, in.size())
}
