package x86

import "github.com/backsight/backsight/cpu"

// arithmetic tells the effects of adding, masking, shifting and comparing.
type arithmetic struct{ shapes }

// The eight operations of the arithmetic block and of group 1, by their number.
const (
	aluADD = iota
	aluOR
	aluADC
	aluSBB
	aluAND
	aluSUB
	aluXOR
	aluCMP
)

// aluSize is the operand size where the opcode's lowest bit tells a byte from the
// rest.
func (in arithmetic) aluSize() uint8 {
	if in.op&1 == 0 {
		return 1
	}
	return in.size()
}

// aluKind is the operation of an opcode below 40, in bits 3–5.
func (in arithmetic) aluKind() int { return int(in.op >> 3 & 7) }

// arithmeticRM is columns 0 and 1 of the block 00–37: rm op= reg, with registers.
func (in arithmetic) arithmeticRM(out *cpu.Insn) {
	size := in.aluSize()
	in.aluReg(out, in.aluKind(), in.rmOf(size), in.rmOf(size), in.regOf(size), size)
}

// arithmeticReg is columns 2 and 3: reg op= rm.
func (in arithmetic) arithmeticReg(out *cpu.Insn) {
	size := in.aluSize()
	switch {
	case in.isReg():
		in.aluReg(out, in.aluKind(), in.regOf(size), in.regOf(size), in.rmOf(size), size)
	case in.aluKind() != aluADD || !in.addElement(out, size):
		clobber1(out, in.regOf(size))
	}
}

// addElement is the addition of an element of an array, as assembly by hand adds the
// distance that a jump table holds: add (%ebx,%ecx,4),%ebx. false: memory without an index.
func (in arithmetic) addElement(out *cpu.Insn, size uint8) bool {
	if !in.scaled() || !wide(size) || !in.flat() {
		return false
	}
	in.effective(out, 0) // an address with an index has no PC
	out.Op, out.Size = cpu.OpAddLoad, size
	out.Dst, out.Src = in.regOf(size), in.regOf(size)
	return true
}

// arithmeticAcc is columns 4 and 5, cmp included: accumulator op= immediate.
func (in arithmetic) arithmeticAcc(out *cpu.Insn) {
	imm := in.imm8()
	if in.op&1 != 0 {
		imm = in.immZ()
	}
	in.aluImm(out, in.aluKind(), in.acc(), in.acc(), imm, in.aluSize())
}

// group1 is 80–83 with a register: operation in ModRM, an immediate operand.
func (in arithmetic) group1(out *cpu.Insn) {
	size, imm := in.size(), in.imm8()
	switch in.op {
	case 0x80, 0x82:
		size = 1
	case 0x81:
		imm = in.immZ()
	}
	kind := int(in.group())
	if kind == aluCMP && size == 1 && in.highByte(in.rmNumber()) {
		return
	}
	in.aluImm(out, kind, in.rmOf(size), in.rmOf(size), imm, size)
}

// aluReg is dst = a op b with registers.
func (in arithmetic) aluReg(out *cpu.Insn, kind int, dst, a, b cpu.Reg, size uint8) {
	switch {
	case kind == aluCMP:
		return
	case !wide(size):
	case kind == aluADD:
		out.Op = cpu.OpAdd
	case (kind == aluSUB || kind == aluXOR) && a == b:
		in.setConst(out, dst, 0, size)
		return
	case (kind == aluAND || kind == aluOR) && a == b: // or %rax,%rax is a test
		in.move(out, dst, a, size)
		out.Flags &^= cpu.FlagPadding
		return
	case kind == aluSUB:
		out.Op = cpu.OpSub
	case kind == aluOR:
		out.Op = cpu.OpOr
	}
	if out.Op == cpu.OpNop {
		clobber1(out, dst)
		return
	}
	out.Dst, out.Src, out.Src2 = dst, a, b
	out.Flags |= in.narrow(size)
}

// aluImm is dst = a op imm.
func (in arithmetic) aluImm(out *cpu.Insn, kind int, dst, a cpu.Reg, imm int64, size uint8) {
	if kind == aluCMP {
		out.Op, out.Src, out.Imm, out.Size = cpu.OpCompareImm, a, imm, size
		return
	}
	if !wide(size) {
		clobber1(out, dst)
		return
	}
	switch {
	case kind == aluADD:
		out.Op = cpu.OpAddImm
	case kind == aluSUB:
		out.Op, imm = cpu.OpAddImm, -imm
	case kind == aluAND && imm == 0, kind == aluOR && imm == -1:
		in.setConst(out, dst, imm, size)
		return
	case kind == aluAND:
		out.Op = cpu.OpAndImm
	case kind == aluOR:
		out.Op = cpu.OpOrImm
	default:
		clobber1(out, dst)
		return
	}
	out.Dst, out.Src, out.Imm = dst, a, imm
	out.Flags |= in.narrow(size)
}

// shift is group 2, C0, C1 and D0–D3: an immediate count, 1, or cl.
func (in arithmetic) shift(out *cpu.Insn, next uint64) {
	size := in.size()
	if in.op&1 == 0 {
		size = 1
	}
	if !in.isReg() || !wide(size) || !in.shiftsLogically() || in.op >= 0xd2 {
		in.writeRM(out, next, size)
		return
	}
	in.shiftBy(out, in.rm(), in.rm(), size)
}

// shiftsLogically tells of group 2 whether it is shl, sal or shr.
func (in arithmetic) shiftsLogically() bool { return in.group() >= 4 && in.group() <= 6 }

// shiftBy is dst = src << count, or >> for shr.
func (in arithmetic) shiftBy(out *cpu.Insn, dst, src cpu.Reg, size uint8) {
	count := int64(1)
	if in.op < 0xd0 {
		count = in.imm8() & int64(8*size-1)
	}
	out.Op, out.Dst, out.Src, out.Imm = cpu.OpShlImm, dst, src, count
	if in.group() == 5 {
		out.Op = cpu.OpShrImm
	}
	out.Flags |= in.narrow(size)
}

// group3 is F6 and F7: test, not, neg, and the products and quotients in the
// accumulator.
func (in arithmetic) group3(out *cpu.Insn, next uint64) {
	size := in.size()
	if in.op == 0xf6 {
		size = 1
	}
	switch in.group() {
	case 0, 1:
	case 2, 3:
		in.writeRM(out, next, size)
	default:
		in.product(out, size)
	}
}

// product clobbers where mul, imul, div and idiv leave their double result.
func (in arithmetic) product(out *cpu.Insn, size uint8) {
	set := cpu.SetOf(in.acc())
	if size > 1 {
		set = set.With(in.gpr(2))
	}
	clobber(out, set)
}

// exchange is xchg and xadd: both operands get unknown values.
func (in arithmetic) exchange(out *cpu.Insn, size uint8) {
	set := cpu.SetOf(in.regOf(size))
	if in.isReg() {
		set = set.With(in.rmOf(size))
	}
	clobber(out, set)
}
