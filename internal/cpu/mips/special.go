package mips

import "github.com/backsight/backsight/cpu"

// special decodes opcode 0 by its function field.
func (d standardDecoder) special(w word, i *cpu.Insn) {
	rd, rs, rt := w.rd(), w.rs(), w.rt()
	switch w.fn() {
	case 0x00: // sll; sll zero is nop, ssnop, ehb, pause
		shiftLeft(i, rd, rt, w.sa(), d.word32())
	case 0x02: // srl, and rotr
		shiftRightOr(w, i, w.sa(), d.word32())
	case 0x05, 0x15: // lsa, dlsa
		scaledAdd(i, rd, rs, rt, uint8(w.sa()&3+1), d.word32If(w.fn() == 0x05))
	case 0x08, 0x09:
		jumpOrCall(w, i)
	case 0x01, 0x0a, 0x0b: // movf, movt, movz, movn
		d.moveIf(i, rd, rs)
	case 0x0c:
		d.syscall(i, int64(w>>6&0xfffff))
	case 0x0d: // break
		i.Op = cpu.OpTrap
	case 0x0e:
		debugBreak(i)
	case 0x0f: // sync
	case 0x10, 0x11, 0x12, 0x13, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f:
		d.multiply(w, i)
	case 0x20, 0x21: // add, addu
		d.add(i, rd, rs, rt, d.word32())
	case 0x2c, 0x2d:
		d.add(i, rd, rs, rt, 0)
	case 0x22, 0x23: // sub, subu
		d.sub(i, rd, rs, rt, d.word32())
	case 0x2e, 0x2f:
		d.sub(i, rd, rs, rt, 0)
	case 0x25:
		d.or(i, rd, rs, rt)
	case 0x38, 0x3c: // dsll, dsll32
		shiftLeft(i, rd, rt, w.sa()|uint32(w.fn()&4)<<3, 0)
	case 0x3a, 0x3e: // dsrl, dsrl32, and drotr, drotr32
		shiftRightOr(w, i, w.sa()|uint32(w.fn()&4)<<3, 0)
	case 0x34: // teq; of a register with itself it always traps
		if rs == rt {
			i.Op = cpu.OpTrap
		}
	case 0x30, 0x31, 0x32, 0x33, 0x36: // tge, tgeu, tlt, tltu, tne
	case 0x03, 0x04, 0x06, 0x07, // sra, sllv, srlv, srav
		0x14, 0x16, 0x17, // dsllv, dsrlv, dsrav
		0x24, 0x26, 0x27, 0x2a, 0x2b, // and, xor, nor, slt, sltu
		0x28, 0x29, // multiply-add of the VR4100
		0x35, 0x37, // seleqz, selnez
		0x3b, 0x3f: // dsra, dsra32
		clobber(i, rd)
	default:
		unknown(i)
		i.List = cpu.SetOf(rd).Without(Zero)
	}
}

// shiftRightOr is a shift to the right, or a rotation, which has the same function code and says so in rs.
func shiftRightOr(w word, i *cpu.Insn, by uint32, flags cpu.Flags) {
	if w.rs() != 0 {
		clobber(i, w.rd())
		return
	}
	shiftRight(i, w.rd(), w.rt(), by, flags)
}

func jumpOrCall(w word, i *cpu.Insn) {
	if w.fn() == 0x08 {
		jumpRegister(i, w.rs(), slot)
		return
	}
	callRegister(i, w.rd(), w.rs(), slot)
}

// moveIf is a conditional move.
func (d *processor) moveIf(i *cpu.Insn, dst, src cpu.Reg) {
	d.move(i, dst, src)
	if i.Op != cpu.OpNop {
		i.Flags |= cpu.FlagConditional
	}
}

// debugBreak is sdbbp: to a running program it is at most a semihosting request
// (MIPS UHI, MD01069), which returns with its answer in v0 and v1.
func debugBreak(i *cpu.Insn) {
	i.Op, i.List = cpu.OpSyscall, cpu.SetOf(V0, V1)
}

// multiply decodes mfhi to mtlo and mult to ddivu. Release 6 has clz to dclo and
// three-operand mul and div here, marked by sa, and keeps the old ones for the
// DSP ASE. In those, rd is either the DSP accumulator (0–3) or the third operand
// that the VR5400, R3900 and R5900 added.
func (d standardDecoder) multiply(w word, i *cpu.Insn) {
	rd := w.rd()
	switch fn := w.fn(); {
	case d.r6 && w.sa() != 0, fn == 0x10, fn == 0x12: // mfhi, mflo
		clobber(i, rd)
	case fn == 0x11:
		clobberAccumulator(w, i, HI)
	case fn == 0x13:
		clobberAccumulator(w, i, LO)
	default:
		clobberAccumulator(w, i, HI, LO)
		if rd > 3 || w.sa() != 0 {
			clobberSet(i, cpu.SetOf(rd, HI, LO))
		}
	}
}

// clobberAccumulator is a write to hi and lo, unless rd selects one of the DSP
// ASE's other accumulators.
func clobberAccumulator(w word, i *cpu.Insn, regs ...cpu.Reg) {
	if rd := w.rd(); rd == 0 || rd > 3 {
		clobberSet(i, cpu.SetOf(regs...))
	}
}

// special2 decodes opcode 0x1c: MIPS32's multiply-add and count, SmartMIPS,
// Cavium's and Loongson's arithmetic.
func (d standardDecoder) special2(w word, i *cpu.Insn) {
	switch w.fn() {
	case 0x00, 0x01, 0x04, 0x05: // madd, maddu, msub, msubu
		multiplyAdd(w, i)
	case 0x08:
		if w.sa() == 2 { // lwxs
			loadIndexed(i, w.rd(), w.rs(), w.rt(), 2, 4, d.signedWord())
		}
	case 0x2e, 0x2f, 0x32, 0x33, 0x3a, 0x3b: // seqi, snei, cins, cins32, exts, exts32
		clobber(i, w.rt())
	case 0x3f:
		debugBreak(i)
	default:
		clobber(i, w.rd())
	}
}

func multiplyAdd(w word, i *cpu.Insn) {
	clobberAccumulator(w, i, HI, LO)
	if w.rd() > 3 {
		clobberSet(i, cpu.SetOf(w.rd(), HI, LO))
	}
}
