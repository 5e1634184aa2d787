package mips

import "github.com/backsight/backsight/cpu"

// micro16Decoder decodes the 16-bit instructions of microMIPS.
type micro16Decoder struct{ *processor }

// insn decodes by the major opcode.
func (d micro16Decoder) insn(h uint16, pc uint64, i *cpu.Insn) {
	high, mid := reg3(h>>7), reg3(h>>4) // the usual register fields
	switch h >> 10 {
	case 0x01:
		d.addSub(h, i)
	case 0x02: // lbu16: 15 stands for −1
		load(i, high, mid, int64(h&15+1)&15-1, 1, 0)
	case 0x0a:
		load(i, high, mid, int64(h&15)<<1, 2, 0)
	case 0x1a:
		d.loadWord(i, high, mid, int64(h&15)<<2)
	case 0x12: // lwsp
		d.loadWord(i, cpu.Reg(h>>5&31), SP, int64(h&31)<<2)
	case 0x19: // lwgp
		d.loadWord(i, high, GP, signed(uint32(h), 7)<<2)
	case 0x22:
		store(i, storeReg(h), mid, int64(h&15), 1)
	case 0x2a:
		store(i, storeReg(h), mid, int64(h&15)<<1, 2)
	case 0x3a:
		store(i, storeReg(h), mid, int64(h&15)<<2, 4)
	case 0x32: // swsp
		store(i, cpu.Reg(h>>5&31), SP, int64(h&31)<<2, 4)
	case 0x03: // move
		d.move(i, cpu.Reg(h>>5&31), cpu.Reg(h&31))
		if h == 0x0c00 {
			i.Flags = cpu.FlagPadding
		}
	case 0x09: // sll, srl; 0 stands for 8
		if h&1 != 0 {
			clobber(i, high)
			return
		}
		shiftLeft(i, high, mid, (uint32(h>>1)+7)&7+1, d.word32())
	case 0x0b:
		andImm(i, high, mid, andImmediate(h&15))
	case 0x11:
		if d.r6 {
			d.pool16CR6(h, i)
			return
		}
		d.pool16C(h, i)
	case 0x13:
		d.pool16D(h, i)
	case 0x1b:
		d.pool16E(h, i)
	case 0x21: // movep
		movePair(h, i)
	case 0x23, 0x2b: // beqz, bnez
		d.branch(i, high, Zero, pc+2+uint64(signed(uint32(h), 7)<<1), d.delaySlot())
		i.TargetMode = 1
	case 0x33: // b
		d.jump(i, pc+2+uint64(signed(uint32(h), 10)<<1), 1, d.delaySlot())
	case 0x3b: // li: 127 stands for −1
		d.constant(i, high, int64(h&127+1)&127-1)
	default:
		unknown(i)
	}
}

// delaySlot is the delay slot that release 6 took from the 16-bit branches.
func (d micro16Decoder) delaySlot() cpu.Flags {
	if d.r6 {
		return 0
	}
	return slot
}

// storeReg is the source of a 16-bit store, where code 0 is register zero.
func storeReg(h uint16) cpu.Reg {
	if h>>7&7 == 0 {
		return Zero
	}
	return reg3(h >> 7)
}

// addSub is addu and subu; release 6 moved the destination from the front to
// the back.
func (d micro16Decoder) addSub(h uint16, i *cpu.Insn) {
	dst, a, b := reg3(h>>7), reg3(h>>1), reg3(h>>4)
	if d.r6 {
		dst, a = a, dst
	}
	if h&1 == 0 {
		d.add(i, dst, a, b, d.word32())
		return
	}
	d.sub(i, dst, a, b, d.word32())
}

// andImmediate is the constant of andi16 (MD00582, table "ANDI16").
func andImmediate(code uint16) int64 {
	return [...]int64{128, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 255, 32768, 65535}[code]
}

// pool16C decodes logic, register lists and jumps.
func (d micro16Decoder) pool16C(h uint16, i *cpu.Insn) {
	low, r := reg3(h>>3), cpu.Reg(h&31)
	switch h >> 6 & 15 {
	case 0, 1, 2: // not, xor, and
		clobber(i, low)
	case 3:
		d.or(i, low, low, reg3(h))
	case 4, 5: // lwm, swm
		multiple(i, h&0x40 != 0, list16(h>>4), SP, int64(h&15)<<2, 4)
	case 6: // jr, jrc
		flags := slot
		if h&0x20 != 0 {
			flags = 0
		}
		jumpRegister(i, r, flags)
	case 7: // jalr, jalrs: the slot has 32 or 16 bits
		callRegister(i, RA, r, slot)
	case 8, 9: // mfhi, mflo
		clobber(i, r)
	case 10: // break
		i.Op = cpu.OpTrap
	case 11:
		debugBreak(i)
	case 12:
		returnAdding(i, int64(h&31)<<2)
	default:
		unknown(i)
	}
}

// returnAdding is jraddiusp and jrcaddiusp, which have no slot.
func returnAdding(i *cpu.Insn, imm int64) {
	i.Op, i.Src, i.Imm = cpu.OpReturn, RA, imm
}

// list16 is the register list of lwm16 and swm16: s0 to s0–s3, and ra.
func list16(code uint16) cpu.RegSet {
	regs := cpu.SetOf(RA)
	for n := range code&3 + 1 {
		regs = regs.With(S0 + cpu.Reg(n))
	}
	return regs
}

// multiple is a load or store of a register list.
func multiple(i *cpu.Insn, isStore bool, regs cpu.RegSet, base cpu.Reg, imm int64, size uint8) {
	if regs == 0 {
		unknown(i)
		return
	}
	i.Op = cpu.OpLoadMulti
	if isStore {
		i.Op = cpu.OpStoreMulti
	}
	i.List, i.Base, i.Imm, i.Size = regs, base, imm, size
	if base == SP {
		i.Flags = cpu.FlagFrameSetup
	}
}

// pool16D is addius5 (any register, four bits) and addiusp, whose codes for
// −2 … 1 mean what would not fit.
func (d micro16Decoder) pool16D(h uint16, i *cpu.Insn) {
	if h&1 == 0 {
		r := cpu.Reg(h >> 5 & 31)
		d.addImm(i, r, r, signed(uint32(h>>1), 4), d.word32())
		return
	}
	words := signed(uint32(h>>1), 9)
	switch words {
	case 0, 1:
		words += 256
	case -1, -2:
		words -= 256
	}
	d.addImm(i, SP, SP, words<<2, d.word32())
}

// pool16E is addiur2 and addiur1sp.
func (d micro16Decoder) pool16E(h uint16, i *cpu.Insn) {
	if h&1 != 0 {
		d.addImm(i, reg3(h>>7), SP, int64(h>>1&63)<<2, d.word32())
		return
	}
	imm := [...]int64{1, 4, 8, 12, 16, 20, 24, -1}[h>>1&7]
	d.addImm(i, reg3(h>>7), reg3(h>>4), imm, d.word32())
}

// movePair is movep: two moves into argument registers. Its sources are of no
// use to an analysis.
func movePair(h uint16, i *cpu.Insn) {
	pairs := [...][2]cpu.Reg{{A1, A2}, {A1, A3}, {A2, A3}, {A0, S5}, {A0, S6}, {A0, A1}, {A0, A2}, {A0, A3}}
	p := pairs[h>>7&7]
	clobberSet(i, cpu.SetOf(p[0], p[1]))
}
