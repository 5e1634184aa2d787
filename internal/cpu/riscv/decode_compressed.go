package riscv

import "github.com/backsight/backsight/cpu"

// compressedDecoder decodes the operands of instructions of 16 bits.
type compressedDecoder struct{ isa }

// regC is the three-bit register field at a bit position: x8..x15.
func regC(h uint32, at uint) cpu.Reg { return cpu.Reg(h>>at&7) + 8 }

// sext sign-extends the low n bits of v.
func sext(v uint32, n uint) int64 {
	return int64(int32(v<<(32-n)) >> (32 - n))
}

// immCI is the six-bit immediate of the CI format.
func immCI(h uint32) int64 { return sext(h>>12&1<<5|h>>2&31, 6) }

// Offsets of loads and stores: a word's is h[5], h[12:10], h[6]; a
// doubleword's h[6:5], h[12:10]. Those of stores relative to the stack pointer are
// h[8:7], h[12:9] and h[9:7], h[12:10].
func offsetW(h uint32) int64   { return int64(h>>5&1<<6 | h>>10&7<<3 | h>>6&1<<2) }
func offsetD(h uint32) int64   { return int64(h>>5&3<<6 | h>>10&7<<3) }
func offsetWSP(h uint32) int64 { return int64(h>>7&3<<6 | h>>9&0xf<<2) }
func offsetDSP(h uint32) int64 { return int64(h>>7&7<<6 | h>>10&7<<3) }

// addi4spn is c.addi4spn. The zero halfword is defined illegal, and fills gaps.
func addi4spn(h uint32, in *cpu.Insn) {
	imm := int64(h>>7&0xf<<6 | h>>11&3<<4 | h>>5&1<<3 | h>>6&1<<2)
	switch {
	case h == 0:
		in.Op, in.Flags = cpu.OpTrap, cpu.FlagPadding
	case imm == 0:
		unknown(in, regC(h, 2))
	default:
		addImm(in, regC(h, 2), SP, imm)
	}
}

// zcbMemory is Zcb's byte and half loads and stores.
func (d compressedDecoder) zcbMemory(h uint32, in *cpu.Insn) {
	r, base := regC(h, 2), regC(h, 7)
	byteOffset := int64(h>>5&1<<1 | h>>6&1)
	halfOffset := int64(h >> 5 & 1 << 1)
	switch h >> 10 & 7 {
	case 0:
		d.load(in, r, base, byteOffset, 1, false)
	case 1:
		d.load(in, r, base, halfOffset, 2, h>>6&1 == 1)
	case 2:
		store(in, r, base, byteOffset, 1)
	case 3:
		store(in, r, base, halfOffset, 2)
	default:
		unknown(in, cpu.NoReg)
	}
}

func immCJ(h uint32) int64 {
	return sext(h>>12&1<<11|h>>8&1<<10|h>>9&3<<8|h>>6&1<<7|h>>7&1<<6|h>>2&1<<5|h>>11&1<<4|h>>3&7<<1, 12)
}

func immCB(h uint32) int64 {
	return sext(h>>12&1<<8|h>>5&3<<6|h>>2&1<<5|h>>10&3<<3|h>>3&3<<1, 9)
}

// jalOrAddiw is the one place where RV32 and RV64 differ in control flow.
func (d compressedDecoder) jalOrAddiw(h uint32, pc uint64, in *cpu.Insn) {
	switch rd := reg(h, 7); {
	case !d.rv64:
		d.jumpTo(in, RA, pc, immCJ(h))
	case rd == Zero:
		unknown(in, cpu.NoReg)
	default:
		unary(in, cpu.OpAddImm, rd, rd, immCI(h))
		in.Flags = cpu.FlagWord32
	}
}

// upper is c.lui, and c.addi16sp for rd = sp. An immediate of 0 is reserved and
// holds c.mop (Zcmop), which writes nothing, or works on the shadow stack (Zicfiss).
func (d compressedDecoder) upper(h uint32, in *cpu.Insn) {
	switch rd := reg(h, 7); {
	case uint16(h) == insnCSSPush:
		d.pushShadow(in, RA)
	case uint16(h) == insnCSSPopChk:
		d.popShadow(in)
	case h>>2&31|h>>12&1 == 0:
		if rd&1 == 0 || rd > 15 {
			unknown(in, rd)
		}
	case rd == SP:
		imm := sext(h>>12&1<<9|h>>3&3<<7|h>>5&1<<6|h>>2&1<<5|h>>6&1<<4, 10)
		addImm(in, SP, SP, imm)
	default:
		constant(in, rd, immCI(h)<<12)
	}
}

// arithmetic is quadrant 1, funct3 100: rd is one of x8..x15.
func (d compressedDecoder) arithmetic(h uint32, in *cpu.Insn) {
	rd, rs2 := regC(h, 7), regC(h, 2)
	switch h >> 10 & 3 {
	case 0, 1: // c.srli, c.srai
		clobber(in, rd)
		return
	case 2:
		unary(in, cpu.OpAndImm, rd, rd, immCI(h))
		return
	}
	switch h>>12&1<<2 | h>>5&3 {
	case 0:
		binary3(in, cpu.OpSub, rd, rd, rs2, 0)
	case 2:
		binary3(in, cpu.OpOr, rd, rd, rs2, 0)
	case 4, 5:
		d.arithmetic32(h, rd, rs2, in)
	case 7:
		zcbUnary(h, rd, in)
	default: // c.xor, c.and, c.mul
		clobber(in, rd)
	}
}

// arithmetic32 is c.subw and c.addw.
func (d compressedDecoder) arithmetic32(h uint32, rd, rs2 cpu.Reg, in *cpu.Insn) {
	op := cpu.OpSub
	if h>>5&1 == 1 {
		op = cpu.OpAdd
	}
	if !d.rv64 {
		unknown(in, rd)
		return
	}
	binary3(in, op, rd, rd, rs2, 0)
	in.Flags = cpu.FlagWord32
}

// zcbUnary is c.zext.b, c.sext.b, c.zext.h, c.sext.h, c.zext.w, c.not.
func zcbUnary(h uint32, rd cpu.Reg, in *cpu.Insn) {
	switch h >> 2 & 7 {
	case 0:
		unary(in, cpu.OpAndImm, rd, rd, 0xff)
	case 2:
		unary(in, cpu.OpAndImm, rd, rd, 0xffff)
	case 6, 7:
		unknown(in, rd)
	default:
		clobber(in, rd)
	}
}

// loadSP is c.lwsp and c.ldsp; rd = x0 is reserved.
func (d compressedDecoder) loadSP(in *cpu.Insn, rd cpu.Reg, offset int64, size uint8) {
	if rd == Zero {
		unknown(in, cpu.NoReg)
		return
	}
	d.load(in, rd, SP, offset, size, true)
}

// pushPopOrStore is quadrant 2, funct3 101: c.fsdsp, or Zcmp and Zcmt where the ABI
// allows them ("Zc*" chapter).
func (d compressedDecoder) pushPopOrStore(h uint32, in *cpu.Insn) {
	if d.zcmp {
		d.pushPop(h, in)
		return
	}
	store(in, cpu.NoReg, SP, offsetDSP(h), 8)
}

// moveOrJump is quadrant 2, funct3 100: c.jr, c.mv, c.ebreak, c.jalr, c.add.
func moveOrJump(h uint32, in *cpu.Insn) {
	rd, rs2, second := reg(h, 7), reg(h, 2), h>>12&1 == 1
	switch {
	case rs2 != Zero && rd == Zero: // hints
	case rs2 != Zero && second:
		add(in, rd, rd, rs2)
	case rs2 != Zero:
		addImm(in, rd, rs2, 0)
	case rd != Zero && second:
		jumpReg(in, RA, rd, 0)
	case rd != Zero:
		jumpReg(in, Zero, rd, 0)
	case second: // c.ebreak
		in.Op = cpu.OpTrap
	default: // c.jr x0
		unknown(in, cpu.NoReg)
	}
}
