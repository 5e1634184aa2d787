package mips

import "github.com/backsight/backsight/cpu"

// mips16Decoder decodes MIPS16e.
type mips16Decoder struct{ *processor }

// decode is Decode for MIPS16e code.
func (d mips16Decoder) decode(code []byte, pc uint64, out []cpu.Insn) int {
	at, behind := 0, uint64(0)
	for n := range out {
		w := d.halves(code, at)
		size := 2 + prefixes>>(w>>27)&1<<1
		if at+size > len(code) {
			return n
		}
		i := &out[n]
		begin(i, uint8(size))
		// In a delay slot the PC is that of the jump (MD00076, "PC-relative
		// instructions").
		here := pc + uint64(at)
		d.insn(newInsn16(uint16(w>>16), uint16(w)), here, here-behind, i)
		behind = uint64(i.Len) * uint64(i.Flags&slot/slot)
		at += int(i.Len)
	}
	return len(out)
}

// insn decodes by the major opcode. base is the PC of PC-relative operands.
func (d mips16Decoder) insn(x insn16, pc, base uint64, i *cpu.Insn) {
	which, rx, ry := x.op(), x.rx(), x.ry()
	if x.ext>>11 == opJal16 { // and h is the rest of its target
		which = opJal16
	}
	switch which {
	case opJal16:
		if x.extended {
			i.Len = 2
			unknown(i)
			return
		}
		d.jal(x, pc, i)
	case 0x00: // addiu rx,sp
		d.addImm(i, x.rx(), extendedBase(x), x.unsigned(8, 2), d.word32())
	case 0x01: // addiu rx,pc
		d.address(i, x.rx(), base&^3+uint64(x.unsigned(8, 2)))
	case 0x02:
		d.jump(i, x.branch(pc, 11), 1, 0)
	case 0x04, 0x05: // beqz, bnez
		d.branch(i, x.rx(), Zero, x.branch(pc, 8), 0)
		i.TargetMode = 1
	case 0x06:
		d.shift(x, i)
	case 0x08:
		d.addImm4(x, i)
	case 0x09:
		d.addImm(i, x.rx(), x.rx(), x.signed(8, 0), d.word32())
	case 0x0a: // slti
		clobber(i, T8)
	case 0x0b:
		compareBelow(i, T8, x.rx(), x.unsigned(8, 0))
	case 0x0c:
		d.i8(x, pc, i)
	case 0x0d:
		d.loadImm(x, i)
	case 0x0e: // cmpi: an exclusive or, no bound
		clobber(i, T8)
	case 0x1c:
		d.rrr(x, i)
	case opRR16:
		d.rr(x, i)
	case 0x1f:
		d.i64(x, base, i)
	case 0x07:
		load(i, ry, rx, x.unsigned(5, 3), 8, 0)
	case 0x0f:
		store(i, ry, rx, x.unsigned(5, 3), 8)
	case 0x10:
		load(i, ry, rx, x.unsigned(5, 0), 1, cpu.FlagSigned)
	case 0x11:
		load(i, ry, rx, x.unsigned(5, 1), 2, cpu.FlagSigned)
	case 0x12:
		d.loadSP(x, i)
	case 0x13:
		d.loadWord(i, ry, rx, x.unsigned(5, 2))
	case 0x14:
		load(i, ry, rx, x.unsigned(5, 0), 1, 0)
	case 0x15:
		load(i, ry, rx, x.unsigned(5, 1), 2, 0)
	case 0x16: // lw rx,(pc)
		d.loadLiteral(i, rx, base&^3+uint64(x.unsigned(8, 2)), 4, d.signedWord())
	case 0x17: // lwu
		load(i, ry, rx, x.unsigned(5, 2), 4, 0)
	case 0x18:
		store(i, ry, rx, x.unsigned(5, 0), 1)
	case 0x19:
		store(i, ry, rx, x.unsigned(5, 1), 2)
	case 0x1a:
		storeSP16(x, i)
	case 0x1b:
		store(i, ry, rx, x.unsigned(5, 2), 4)
	case opExtend16: // twice
		i.Len = 2
		unknown(i)
	default:
		unknown(i)
	}
}

// jal is jal and, with bit 10, jalx to the standard encoding. The target field
// is cut in three.
func (d mips16Decoder) jal(x insn16, pc uint64, i *cpu.Insn) {
	index := uint64(x.ext&0x1f)<<21 | uint64(x.ext>>5&0x1f)<<16 | uint64(x.h)
	mode := cpu.Mode(1)
	if x.ext&0x400 != 0 {
		mode = 0
	}
	d.call(i, (pc+4)&^0x0fff_ffff|index<<2, mode, slot)
}

// extendedBase is the base that MIPS16e2 lets extended instructions choose in
// bits 7–5: 0 is sp, 1 is gp.
func extendedBase(x insn16) cpu.Reg {
	if x.extension() == 1 {
		return GP
	}
	return SP
}

// addImm4 is addiu and daddiu ry,rx; its prefix holds imm[10:4] imm[14:11].
func (d mips16Decoder) addImm4(x insn16, i *cpu.Insn) {
	imm := signed(uint32(x.h), 4)
	if x.extended {
		imm = signed(uint32(x.ext&0xf)<<11|uint32(x.ext&0x7f0)|uint32(x.h&0xf), 15)
	}
	d.addImm(i, x.ry(), x.rx(), imm, d.word32If(x.h&0x10 == 0))
}

// shift is sll, dsll, srl and sra; a short shift by 0 is one by 8. MIPS16e2
// uses bits 4–2 of an extended sll; those of an extended srl make it a
// conditional move, which also writes rx.
func (d mips16Decoder) shift(x insn16, i *cpu.Insn) {
	if x.extended && x.h&3 == 0 && x.h>>2&7 != 0 {
		extendedShift16(x, i)
		return
	}
	by := uint32(x.h >> 2 & 7)
	if by == 0 {
		by = 8
	}
	if x.extended {
		by = uint32(x.ext >> 6 & 31)
	}
	switch x.h & 3 {
	case 0:
		shiftLeft(i, x.rx(), x.ry(), by, d.word32())
	case 1:
		shiftLeft(i, x.rx(), x.ry(), by|uint32(x.ext&0x20), 0)
	default:
		clobber(i, x.rx())
	}
}

// extendedShift16 is MIPS16e2's ins, ext and rdhwr, which write ry, and ehb, sync
// and pause.
func extendedShift16(x insn16, i *cpu.Insn) {
	switch sel := x.h >> 2 & 7; {
	case sel == 1 && x.ext&0x20 == 0: // ins ry,zero
		pos, msb := uint32(x.ext>>6&31), uint32(x.ext&31)
		insertZero(i, x.ry(), Zero, pos, msb-pos+1)
	case sel <= 3:
		clobber(i, x.ry())
	}
}

// loadImm is li, whose extended immediate has no sign; MIPS16e2 adds lui, ori,
// andi and xori.
func (d mips16Decoder) loadImm(x insn16, i *cpu.Insn) {
	if !x.extended {
		d.constant(i, x.rx(), int64(x.h&0xff))
		return
	}
	imm := int64(uint16(x.wide()))
	switch x.h >> 5 & 7 {
	case 0:
		d.constant(i, x.rx(), imm)
	case 1:
		d.constant(i, x.rx(), int64(int32(imm<<16)))
	case 2:
		d.orImm(i, x.rx(), x.rx(), imm)
	case 3:
		andImm(i, x.rx(), x.rx(), imm)
	default:
		clobber(i, x.rx())
	}
}

// i8 decodes the group I8: branches on t8, the stack pointer, save and restore,
// and moves between the eight registers and the 32.
func (d mips16Decoder) i8(x insn16, pc uint64, i *cpu.Insn) {
	switch x.h >> 8 & 7 {
	case 0, 1: // bteqz, btnez
		d.branch(i, T8, Zero, x.branch(pc, 8), 0)
		i.TargetMode = 1
	case 2:
		store(i, RA, SP, x.unsigned(8, 2), 4)
	case 3:
		d.addImm(i, SP, SP, x.signed(8, 3), d.word32())
	case 4:
		saveRestore(x, i)
	case 5: // move r32,rz
		d.move(i, cpu.Reg(x.h>>5&7|x.h&0x18), reg3(x.h))
		if i.Op == cpu.OpNop && x.h == 0x6500 {
			i.Flags = cpu.FlagPadding
		}
	case 7: // move ry,r32
		if x.extended {
			coprocessor16(x, i)
			return
		}
		d.move(i, x.ry(), cpu.Reg(x.h&31))
	default:
		unknown(i)
	}
}

// coprocessor16 is MIPS16e2's mfc0, di, ei, dmt, emt, dvpe and evpe, which write
// ry if a bit says so.
func coprocessor16(x insn16, i *cpu.Insn) {
	if f := x.ext & 0x1f; f == 0 || f == 2 || f == 3 {
		clobber(i, x.ry())
	}
}

// rrr decodes daddu, addu, dsubu and subu rz,rx,ry. Extended it is asmacro, which
// an implementation defines, and MIPS16e2 copyw and ucopyw: up to four words
// from ry to rx in memory.
func (d mips16Decoder) rrr(x insn16, i *cpu.Insn) {
	if x.extended {
		if x.h&0x1c != 0 {
			unknown(i)
			return
		}
		store(i, cpu.NoReg, x.rx(), int64(x.ext&0x1f)<<4, uint8(x.h&3+1)*4)
		return
	}
	switch x.h & 3 {
	case 0:
		d.add(i, x.rz(), x.rx(), x.ry(), 0)
	case 1:
		d.add(i, x.rz(), x.rx(), x.ry(), d.word32())
	case 2:
		d.sub(i, x.rz(), x.rx(), x.ry(), 0)
	case 3:
		d.sub(i, x.rz(), x.rx(), x.ry(), d.word32())
	}
}

// rr decodes the group RR by its function field.
func (d mips16Decoder) rr(x insn16, i *cpu.Insn) {
	if f := x.h & 0x1f; x.extended && f != 0x08 && f != 0x13 { // dsrl, dsra
		i.Len = 2
		unknown(i)
		return
	}
	switch x.h & 0x1f {
	case 0x00:
		jumpRegister16(x, i)
	case 0x01:
		debugBreak(i)
	case 0x02, 0x03, 0x0a: // slt, sltu, cmp
		clobber(i, T8)
	case 0x05: // break
		i.Op = cpu.OpTrap
	case 0x0b: // neg
		d.sub(i, x.rx(), Zero, x.ry(), d.word32())
	case 0x0d:
		d.or(i, x.rx(), x.rx(), x.ry())
	case 0x04, 0x06, 0x07, 0x08, 0x13, 0x14, 0x16, 0x17: // sllv, srlv, srav, dsrl, dsra, dsllv, dsrlv, dsrav
		clobber(i, x.ry())
	case 0x0c, 0x0e, 0x0f, 0x10, 0x11, 0x12: // and, xor, not, mfhi, zeb and seb, mflo
		clobber(i, x.rx())
	case 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f: // mult … ddivu
		clobberSet(i, cpu.SetOf(HI, LO))
	default:
		unknown(i)
	}
}

// jumpRegister16 decodes jr, jalr and their compact forms jrc, jalrc by the ry
// field: bit 0 names ra, bit 1 links, bit 2 leaves the delay slot out.
func jumpRegister16(x insn16, i *cpu.Insn) {
	f := x.h >> 5 & 7
	target, flags := x.rx(), slot
	if f&1 != 0 {
		target = RA
	}
	if f&4 != 0 {
		flags = 0
	}
	switch f {
	case 0, 1, 4, 5:
		jumpRegister(i, target, flags)
	case 2, 6:
		callRegister(i, RA, target, flags)
	default:
		unknown(i)
	}
}
