package x86

import "github.com/backsight/backsight/cpu"

// frequent is how the effects of an opcode of the one-byte map are told. It has a jump
// of its own for each kind; a switch over opcodes would be a search, whose branches are
// often mispredicted.
type frequent uint8

const (
	fx frequent = iota // none of the frequent ones
	fn                 // cmp of two registers, test
	fE                 // rm op= reg
	fR                 // reg op= rm
	fA                 // accumulator op= immediate
	f4                 // inc and dec of the 32-bit mode
	fS                 // push
	fP                 // pop
	fb                 // branch
	f1                 // group 1
	fm                 // mov to rm
	fl                 // mov from rm
	fa                 // lea
	fi                 // mov of an immediate
	fr                 // ret
	fg                 // group 11
	fc                 // call
	fz                 // jmp
	fj                 // jmp, short
)

var frequents = [256]frequent{
	0x00: fE, fE, fR, fR, fA, fA, fx, fx, fE, fE, fR, fR, fA, fA, fx, fx,
	0x10: fE, fE, fR, fR, fA, fA, fx, fx, fE, fE, fR, fR, fA, fA, fx, fx,
	0x20: fE, fE, fR, fR, fA, fA, fx, fx, fE, fE, fR, fR, fA, fA, fx, fx,
	0x30: fE, fE, fR, fR, fA, fA, fx, fx, fn, fn, fn, fn, fA, fA, fx, fx,
	0x40: f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4, f4,
	0x50: fS, fS, fS, fS, fS, fS, fS, fS, fP, fP, fP, fP, fP, fP, fP, fP,
	0x70: fb, fb, fb, fb, fb, fb, fb, fb, fb, fb, fb, fb, fb, fb, fb, fb,
	0x80: f1, f1, f1, f1, fn, fn, fx, fx, fm, fm, fx, fl, fx, fa, fx, fx,
	0xa8: fn, fn,
	0xb8: fi, fi, fi, fi, fi, fi, fi, fi,
	0xc3: fr, 0xc7: fg,
	0xe8: fc, fz, fx, fj,
}

// oneByte tells the effects of the one-byte map: the frequent opcodes here, the
// rest by rows, with a second jump.
func (in *inst) oneByte(out *cpu.Insn, next uint64) bool {
	switch frequents[in.op] {
	case fn:
	case fE:
		in.arithmeticRM(out, next)
	case fR:
		in.arithmeticReg(out)
	case fA:
		in.arithmeticAcc(out)
	case f4:
		in.addImm(out, in.gpr(in.op&7), in.gpr(in.op&7), 1-int64(in.op>>2&2), in.size())
	case fS:
		in.push(out, in.gpr(in.opcodeReg()), in.stackSize())
	case fP:
		in.pop(out, in.gpr(in.opcodeReg()), in.stackSize())
	case fb:
		in.jump(out, next, in.imm8(), cpu.FlagConditional)
	case f1:
		in.group1(out, next)
	case fm:
		in.moveToRM(out, next)
	case fl:
		in.moveToReg(out, next)
	case fa:
		in.lea(out, next)
		return !in.isReg()
	case fi:
		in.loadConst(out)
	case fr:
		out.Op = cpu.OpReturn
	case fg:
		return in.group11(out, next)
	case fc:
		in.call(out, next, in.relZ())
	case fz:
		in.jump(out, next, in.relZ(), 0)
	case fj:
		in.jump(out, next, in.imm8(), 0)
	default:
		return in.rare(out, next)
	}
	return true
}

// rare is the rest of the one-byte map by rows.
func (in *inst) rare(out *cpu.Insn, next uint64) bool {
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
func (in *inst) segmentsAndBCD(out *cpu.Insn) {
	switch {
	case in.op >= 0x20:
		clobber1(out, in.acc())
	case in.op&1 == 0:
		in.push(out, cpu.NoReg, in.stackSize())
	default:
		in.drop(out, in.stackSize())
	}
}

// row6: pusha, popa, movslq, pushes of constants, imul, port strings.
func (in *inst) row6(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0x60:
		// The order is eax first at the top, which no Op says: an area is stored.
		in.push(out, cpu.NoReg, 8*in.stackSize())
	case 0x61:
		clobber(out, cpu.SetOf(EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI))
	case 0x63:
		in.extendWord(out, next)
	case 0x68, 0x6a:
		in.push(out, cpu.NoReg, in.stackSize())
	case 0x69, 0x6b:
		clobber1(out, in.reg())
	case 0x6c, 0x6d: // ins
		in.stringOp(out, in.gpr(7), cpu.NoReg)
	case 0x6e, 0x6f: // outs
		in.stringOp(out, cpu.NoReg, in.gpr(6))
	}
}

// extendWord is 63: movslq in 64-bit mode, else arpl.
func (in *inst) extendWord(out *cpu.Insn, next uint64) {
	switch {
	case !in.long:
		in.writeRM(out, next, 2)
	case in.isReg() || !wide(in.size()):
		clobber1(out, in.reg())
	default:
		in.load(out, next, in.reg(), 4)
		if out.Op == cpu.OpLoad && in.w() {
			out.Flags = cpu.FlagSigned
		}
	}
}

// stringOp clobbers the registers that a string instruction steps, and its
// repeat count.
func (in *inst) stringOp(out *cpu.Insn, regs ...cpu.Reg) {
	set := cpu.SetOf(regs...)
	if in.rep != 0 {
		set = set.With(in.gpr(1))
	}
	clobber(out, set)
}

// row8: xchg, mov from a byte or a segment register, pop mem.
func (in *inst) row8(out *cpu.Insn, next uint64) bool {
	switch in.op {
	case 0x86:
		in.exchange(out, 1)
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

// moveToRM is mov with the rm operand as destination.
func (in *inst) moveToRM(out *cpu.Insn, next uint64) {
	size := in.size()
	if in.op == 0x88 {
		size = 1
	}
	switch {
	case !in.isReg():
		in.store(out, next, in.regOf(size), size)
	case size == 1:
		clobber1(out, in.rmOf(1))
	default:
		in.move(out, in.rm(), in.reg(), size)
	}
}

// moveToReg is mov with the rm operand as source.
func (in *inst) moveToReg(out *cpu.Insn, next uint64) {
	if in.isReg() {
		in.move(out, in.reg(), in.rm(), in.size())
	} else {
		in.load(out, next, in.reg(), in.size())
	}
}

// swap is xchg. With itself it is the long nop (66 90), but for a 32-bit one in
// 64-bit mode, which zero-extends.
func (in *inst) swap(out *cpu.Insn, a, b cpu.Reg, size uint8) {
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
func (in *inst) row9(out *cpu.Insn, next uint64) {
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
func (in *inst) farOffset() uint32 {
	if in.size() == 2 {
		return uint32(in.imm16())
	}
	return uint32(in.imm32())
}

// rowA: mov with an absolute address, strings, test.
func (in *inst) rowA(out *cpu.Insn) {
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
func (in *inst) absolute(out *cpu.Insn) {
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

// loadConst is mov of an immediate to a register.
func (in *inst) loadConst(out *cpu.Insn) {
	v := in.imm32()
	if in.w() {
		v = in.imm64()
	}
	in.setConst(out, in.gpr(in.opcodeReg()), v, in.size())
}
