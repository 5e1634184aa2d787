package arm

import "github.com/backsight/backsight/cpu"

// The data-processing opcodes of A32 (v7 A5.2.1); T32's are mapped to them.
const (
	opAND = iota
	opEOR
	opSUB
	opRSB
	opADD
	opADC
	opSBC
	opRSC
	opTST
	opTEQ
	opCMP
	opCMN
	opORR
	opMOV
	opBIC
	opMVN
)

// compares tells the opcodes without a destination.
func compares(op uint32) bool { return op >= opTST && op <= opCMN }

// aluImm is a data-processing instruction with an immediate. here is what the
// PC reads as. All opcodes are named, which makes the switch a jump instead of a search.
func aluImm(o *cpu.Insn, op uint32, rd, rn cpu.Reg, imm, here uint32) {
	switch op {
	case opMOV:
		constant(o, rd, imm)
	case opMVN:
		constant(o, rd, ^imm)
	case opADD:
		addImm(o, rd, rn, imm, here)
	case opSUB:
		addImm(o, rd, rn, -imm, here)
	case opCMP:
		o.Op, o.Src, o.Imm = cpu.OpCompareImm, rn, int64(imm)
	case opTST, opTEQ, opCMN:
	case opAND, opEOR, opRSB, opADC, opSBC, opRSC, opORR, opBIC:
		logicalImm(o, op, rd, rn, imm)
	}
}

// addImm is rd = rn + imm. The constant is taken as signed, so that a stack
// pointer's distance is small however the compiler spells it.
func addImm(o *cpu.Insn, rd, rn cpu.Reg, imm, here uint32) {
	if rn == PC {
		address(o, rd, here+imm)
		return
	}
	withImm(o, cpu.OpAddImm, rd, rn, int32(imm))
}

// logicalImm has the masks; what cannot be told is lost.
func logicalImm(o *cpu.Insn, op uint32, rd, rn cpu.Reg, imm uint32) {
	if rn == PC {
		clobberOne(o, rd)
		return
	}
	switch op {
	case opAND:
		andMask(o, rd, rn, int64(imm))
	case opBIC:
		andMask(o, rd, rn, ^int64(imm))
	case opORR:
		o.Op, o.Dst, o.Src, o.Imm = cpu.OpOrImm, rd, rn, int64(imm)
	default:
		clobberOne(o, rd)
	}
}

// andMask is rd = rn & mask.
func andMask(o *cpu.Insn, rd, rn cpu.Reg, mask int64) {
	o.Op, o.Dst, o.Src, o.Imm = cpu.OpAndImm, rd, rn, mask
}

// aluReg is a data-processing instruction with a register shifted by a
// constant: kind 0 is LSL, and of the others only LSR by itself can be told.
func aluReg(o *cpu.Insn, op uint32, rd, rn, rm cpu.Reg, kind, amount, here uint32) {
	const lsr = 1
	switch {
	case kind == lsr && op == opMOV:
		logicalRight(o, rd, rm, amount)
		return
	case kind != 0 && !compares(op):
		clobberOne(o, rd)
		return
	}
	switch op {
	case opTST, opTEQ, opCMP, opCMN:
	case opMOV:
		shiftLeft(o, rd, rm, amount, here)
	case opADD:
		addReg(o, rd, rn, rm, amount, here)
	case opSUB:
		twoReg(o, cpu.OpSub, rd, rn, rm, amount)
	case opORR:
		orReg(o, rd, rn, rm, amount)
	case opAND, opEOR, opRSB, opADC, opSBC, opRSC, opBIC, opMVN:
		clobberOne(o, rd)
	}
}

// twoReg is an operation of two registers; with the PC as one of them it is lost.
func twoReg(o *cpu.Insn, op cpu.Op, rd, rn, rm cpu.Reg, amount uint32) {
	if rn == PC || rm == PC {
		clobberOne(o, rd)
		return
	}
	o.Op, o.Dst, o.Src, o.Src2, o.Scale = op, rd, rn, rm, uint8(amount)
}

func orReg(o *cpu.Insn, rd, rn, rm cpu.Reg, amount uint32) {
	if amount != 0 {
		clobberOne(o, rd)
		return
	}
	twoReg(o, cpu.OpOr, rd, rn, rm, 0)
}

func shiftLeft(o *cpu.Insn, rd, rm cpu.Reg, amount, here uint32) {
	switch {
	case rm == PC && amount == 0:
		address(o, rd, here)
	case rm == PC:
		clobberOne(o, rd)
	case amount == 0:
		move(o, rd, rm)
	default:
		withImm(o, cpu.OpShlImm, rd, rm, int32(amount))
	}
}

// logicalRight is LSR, of which the amount 0 stands for 32.
func logicalRight(o *cpu.Insn, rd, rm cpu.Reg, amount uint32) {
	if rm == PC || rd == PC || amount == 0 {
		clobberOne(o, rd)
		return
	}
	withImm(o, cpu.OpShrImm, rd, rm, int32(amount))
}

// t16ShiftRight is LSR or ASR of 16 bits.
func t16ShiftRight(h uint32, o *cpu.Insn) {
	const lsr = 1
	if h>>11 != lsr {
		clobberOne(o, low(h, 0))
		return
	}
	logicalRight(o, low(h, 0), low(h, 3), h>>6&31)
}

// addReg is rd = rn + rm<<amount. With the PC as one of them, as in position
// independent code (ldr r3,[pc,#n]; add r3,pc,r3), it adds a known address.
func addReg(o *cpu.Insn, rd, rn, rm cpu.Reg, amount, here uint32) {
	if rm == PC && amount == 0 {
		rn, rm = rm, rn
	}
	switch {
	case rn == PC && rm != PC && amount == 0:
		withImm(o, cpu.OpAddImm, rd, rm, 0)
		o.Imm = int64(here)
		o.Flags |= cpu.FlagAddress
	case rn == PC || rm == PC:
		clobberOne(o, rd)
	default:
		o.Op, o.Dst, o.Src, o.Src2, o.Scale = cpu.OpAdd, rd, rn, rm, uint8(amount)
	}
}

// extract is UBFX and the zero extensions: the lowest width bits of rn.
func extract(o *cpu.Insn, rd, rn cpu.Reg, width uint32) {
	if rd == PC {
		unknown(o)
		return
	}
	andMask(o, rd, rn, 1<<width-1)
}

// clearField is BFC of the bits lsb to msb: "bfc sp,#0,#3" aligns a stack.
func clearField(o *cpu.Insn, rd cpu.Reg, lsb, msb uint32) {
	if msb < lsb || rd == PC {
		unknown(o)
		return
	}
	field := (int64(1)<<(msb-lsb+1) - 1) << lsb
	andMask(o, rd, rd, ^field)
}
