package riscv

import "github.com/backsight/backsight/cpu"

// regC is the three-bit register field at a bit position: x8..x15.
func regC(h uint32, at uint) cpu.Reg { return cpu.Reg(h>>at&7) + 8 }

// sext sign-extends the low n bits of v.
func sext(v uint32, n uint) int64 {
	return int64(int32(v<<(32-n)) >> (32 - n))
}

// immCI is the six-bit immediate of the CI format.
func immCI(h uint32) int64 { return sext(h>>12&1<<5|h>>2&31, 6) }

// compressed decodes a 16-bit instruction: C, Zcb and, where the ABI allows it,
// Zcmp and Zcmt ("C" chapter, table of instruction listings; "Zc*" chapter).
func (d decoder) compressed(half uint16, pc uint64, in *cpu.Insn) {
	h := uint32(half)
	switch h & 3 {
	case 0:
		d.quadrant0(h, in)
	case 1:
		d.quadrant1(h, pc, in)
	case 2:
		d.quadrant2(h, in)
	}
}

// Offsets of loads and stores: a word's is h[5], h[12:10], h[6]; a
// doubleword's h[6:5], h[12:10].
func offsetW(h uint32) int64 { return int64(h>>5&1<<6 | h>>10&7<<3 | h>>6&1<<2) }
func offsetD(h uint32) int64 { return int64(h>>5&3<<6 | h>>10&7<<3) }

// quadrant0 is loads and stores on x8..x15, and c.addi4spn.
func (d decoder) quadrant0(h uint32, in *cpu.Insn) {
	r, base := regC(h, 2), regC(h, 7)
	switch h >> 13 {
	case 0:
		imm := int64(h>>7&0xf<<6 | h>>11&3<<4 | h>>5&1<<3 | h>>6&1<<2)
		switch {
		case h == 0: // defined illegal, and what fills gaps
			in.Op, in.Flags = cpu.OpTrap, cpu.FlagPadding
		case imm == 0:
			unknown(in, r)
		default:
			addImm(in, r, SP, imm)
		}
	case 1: // c.fld
		if d.zcmp {
			// Free where there is no D. WCH's XW extension has a byte load here.
			unknown(in, r)
		}
	case 2:
		d.load(in, r, base, offsetW(h), 4, true)
	case 3: // c.flw on RV32
		if d.rv64 {
			d.load(in, r, base, offsetD(h), 8, true)
		}
	case 4:
		d.zcbMemory(h, in)
	case 5:
		store(in, cpu.NoReg, base, offsetD(h), 8)
	case 6:
		store(in, r, base, offsetW(h), 4)
	case 7:
		if d.rv64 {
			store(in, r, base, offsetD(h), 8)
		} else {
			store(in, cpu.NoReg, base, offsetW(h), 4)
		}
	}
}

// zcbMemory is Zcb's byte and half loads and stores.
func (d decoder) zcbMemory(h uint32, in *cpu.Insn) {
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

// quadrant1 is constants, arithmetic and direct jumps.
func (d decoder) quadrant1(h uint32, pc uint64, in *cpu.Insn) {
	rd := reg(h, 7)
	switch h >> 13 {
	case 0:
		if h == 1 { // c.nop
			in.Flags = cpu.FlagPadding
		}
		addImm(in, rd, rd, immCI(h))
	case 1:
		d.jalOrAddiw(h, rd, pc, in)
	case 2:
		constant(in, rd, immCI(h))
	case 3:
		upper(h, rd, in)
	case 4:
		d.arithmetic(h, in)
	case 5:
		d.jumpTo(in, Zero, pc, immCJ(h))
	case 6, 7:
		d.branch(in, regC(h, 7), Zero, pc, immCB(h))
	}
}

func immCJ(h uint32) int64 {
	return sext(h>>12&1<<11|h>>8&1<<10|h>>9&3<<8|h>>6&1<<7|h>>7&1<<6|h>>2&1<<5|h>>11&1<<4|h>>3&7<<1, 12)
}

func immCB(h uint32) int64 {
	return sext(h>>12&1<<8|h>>5&3<<6|h>>2&1<<5|h>>10&3<<3|h>>3&3<<1, 9)
}

// jalOrAddiw is the one place where RV32 and RV64 differ in control flow.
func (d decoder) jalOrAddiw(h uint32, rd cpu.Reg, pc uint64, in *cpu.Insn) {
	switch {
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
// holds c.mop (Zcmop; shadow-stack push and check), which writes nothing.
func upper(h uint32, rd cpu.Reg, in *cpu.Insn) {
	switch {
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
func (d decoder) arithmetic(h uint32, in *cpu.Insn) {
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
func (d decoder) arithmetic32(h uint32, rd, rs2 cpu.Reg, in *cpu.Insn) {
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

// quadrant2 is stack-pointer-relative loads and stores, and register moves and
// jumps.
func (d decoder) quadrant2(h uint32, in *cpu.Insn) {
	rd, rs2 := reg(h, 7), reg(h, 2)
	loadW := int64(h>>2&3<<6 | h>>12&1<<5 | h>>4&7<<2)
	loadD := int64(h>>2&7<<6 | h>>12&1<<5 | h>>5&3<<3)
	storeW := int64(h>>7&3<<6 | h>>9&0xf<<2)
	storeD := int64(h>>7&7<<6 | h>>10&7<<3)
	switch h >> 13 {
	case 0:
		if rd != Zero {
			d.shiftLeft(h>>12&1<<25|h>>2&31<<20, rd, rd, in)
		}
	case 1: // c.fldsp
		if d.zcmp {
			unknown(in, regC(h, 2)) // see quadrant 0, funct3 001
		}
	case 2:
		d.loadSP(in, rd, loadW, 4)
	case 3: // c.flwsp on RV32
		if d.rv64 {
			d.loadSP(in, rd, loadD, 8)
		}
	case 4:
		moveOrJump(h, rd, rs2, in)
	case 5:
		if d.zcmp {
			d.pushPop(h, in)
		} else {
			store(in, cpu.NoReg, SP, storeD, 8)
		}
	case 6:
		store(in, rs2, SP, storeW, 4)
	case 7:
		if d.rv64 {
			store(in, rs2, SP, storeD, 8)
		} else {
			store(in, cpu.NoReg, SP, storeW, 4)
		}
	}
}

// loadSP is c.lwsp and c.ldsp; rd = x0 is reserved.
func (d decoder) loadSP(in *cpu.Insn, rd cpu.Reg, offset int64, size uint8) {
	if rd == Zero {
		unknown(in, cpu.NoReg)
		return
	}
	d.load(in, rd, SP, offset, size, true)
}

// moveOrJump is quadrant 2, funct3 100: c.jr, c.mv, c.ebreak, c.jalr, c.add.
func moveOrJump(h uint32, rd, rs2 cpu.Reg, in *cpu.Insn) {
	second := h>>12&1 == 1
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
