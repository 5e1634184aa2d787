package arm

import "github.com/backsight/backsight/cpu"

// Functions of 32-bit Thumb instructions have the first halfword in the upper half
// of w (v7 A6.3).

// aluOpcode maps bits 24:21 of T32's data processing to A32's opcodes; RSC
// stands for what A32 does not have (orn, pkh) and the unallocated.
var aluOpcode = [16]uint8{opAND, opBIC, opORR, opRSC, opEOR, opRSC, opRSC, opRSC,
	opADD, opRSC, opADC, opSBC, opRSC, opSUB, opRSB, opRSC}

// t32Opcode is the A32 opcode of data processing: without a first operand ORR
// is MOV and ORN is MVN, without a destination it compares. It reports false
// where the PC is the destination, which T32 does not have.
func t32Opcode(w uint32, rd cpu.Reg) (uint32, bool) {
	op := uint32(aluOpcode[w>>21&15])
	if field(w, 16) == PC {
		switch w >> 21 & 15 {
		case 2:
			op = opMOV
		case 3:
			op = opMVN
		}
	}
	if rd != PC {
		return op, true
	}
	if bit(w, 20) {
		switch op {
		case opAND, opEOR:
			return opTST, true
		case opADD:
			return opCMN, true
		case opSUB:
			return opCMP, true
		}
	}
	return op, false
}

// t32Shifted is data processing with a shifted register (v7 A6.3.11).
func (d decoder) t32Shifted(w, here uint32, o *cpu.Insn) {
	rd, rn, rm := field(w, 8), field(w, 16), field(w, 0)
	if d.micro && w>>20 == 0xea5 && (bit(w, 15) || rm == PC || rm == SP && w&0x150 == 0x100) {
		t32LongShift(w, o)
		return
	}
	op, ok := t32Opcode(w, rd)
	if !ok {
		unknown(o)
		return
	}
	aluReg(o, op, rd, rn, rm, w>>4&3, w>>10&0x1c|w>>6&3, here)
}

// t32LongShift has what v8.1-M puts where ORRS has no meaning: the conditional
// select csel, csinc, csinv, csneg and the shifts of one or two registers.
func t32LongShift(w uint32, o *cpu.Insn) {
	rd := field(w, 8)
	switch {
	case bit(w, 15) && w>>12&15 >= 8 && w>>14&3 == 2 && field(w, 0) != SP: // csel …
		clobberOne(o, rd)
	case rd == PC: // sqrshr, uqshl …
		clobberOne(o, field(w, 16))
	default: // asrl, lsll, lsrl …
		clobber(o, cpu.SetOf(field(w, 16)&^1, rd|1))
	}
}

// t32Modified is data processing with an expanded immediate (v7 A6.3.1), or a branch.
func (d decoder) t32Modified(w, pc uint32, o *cpu.Insn) {
	if bit(w, 15) {
		d.t32Control(w, pc, o)
		return
	}
	rd := field(w, 8)
	op, ok := t32Opcode(w, rd)
	if !ok {
		unknown(o)
		return
	}
	rn := field(w, 16)
	if rn == PC && op != opMOV && op != opMVN { // UNPREDICTABLE
		clobberOne(o, rd)
		return
	}
	aluImm(o, op, rd, rn, expandT32(w), 0)
}

// expandT32 is ThumbExpandImm (v7 A6.3.2).
func expandT32(w uint32) uint32 {
	v, how := w&0xff, w>>15&0x800|w>>4&0x700|w&0x80
	switch how >> 8 {
	case 0:
		return v
	case 1:
		return v<<16 | v
	case 2:
		return v<<24 | v<<8
	case 3:
		return v * 0x0101_0101
	}
	by := how >> 7
	v |= 0x80
	return v>>by | v<<(32-by)
}

// t32Plain is data processing with a plain immediate (v7 A6.3.3), or a branch.
func (d decoder) t32Plain(w, pc uint32, o *cpu.Insn) {
	if bit(w, 15) {
		d.t32Control(w, pc, o)
		return
	}
	rd, rn, here := field(w, 8), field(w, 16), (pc+4)&^3
	if rd == PC {
		unknown(o)
		return
	}
	imm12 := w>>15&0x800 | w>>4&0x700 | w&0xff
	imm16 := w>>4&0xf000 | imm12
	lsb := w>>10&0x1c | w>>6&3
	switch w >> 20 & 31 {
	case 0x00: // addw, adr
		addImm(o, rd, rn, imm12, here)
	case 0x0a: // subw, adr
		addImm(o, rd, rn, -imm12, here)
	case 0x04:
		constant(o, rd, imm16)
	case 0x0c:
		o.Op, o.Dst, o.Imm, o.Scale = cpu.OpInsert, rd, int64(imm16), 16
	case 0x16: // bfi, bfc
		if rn == PC {
			clearField(o, rd, lsb, w&31)
		} else {
			clobberOne(o, rd)
		}
	case 0x1c: // ubfx
		if lsb == 0 {
			extract(o, rd, rn, w&31+1)
		} else {
			clobberOne(o, rd)
		}
	case 0x10, 0x12, 0x14, 0x18, 0x1a: // ssat, sbfx, usat
		clobberOne(o, rd)
	default:
		unknown(o)
	}
}

// t32Arithmetic is 1111 101: data processing of registers, multiply, divide
// (v7 A6.3.12, A6.3.16, A6.3.17).
func t32Arithmetic(w uint32, o *cpu.Insn) {
	rd, rt := field(w, 8), field(w, 12)
	switch {
	case !bit(w, 24):
		t32Extend(w, o)
	case !bit(w, 23):
		if rd == PC && w>>20 == 0xfb5 { // autg, bxaut of v8.1-M
			if w>>4&15 == 1 {
				jumpReg(o, field(w, 16))
			}
			return
		}
		clobberOne(o, rd) // mul, mla, smlad, usad8
	case w>>20&7 == 1 || w>>20&7 == 3: // sdiv, udiv
		clobberOne(o, rd)
	case w>>20&7 == 7:
		unknown(o)
	default: // smull, umull, smlal, smlald, umaal
		clobber(o, cpu.SetOf(rd, rt))
	}
}

// t32Extend is 1111 1010: shifts by a register, extensions, parallel arithmetic,
// rev, clz, crc32. All write rd.
func t32Extend(w uint32, o *cpu.Insn) {
	rd, rm := field(w, 8), field(w, 0)
	switch {
	case w>>12&15 != 15:
		unknown(o)
	case rd == PC:
		unknown(o)
	case w>>16 == 0xfa1f && w>>4&15 == 8:
		extract(o, rd, rm, 16)
	case w>>16 == 0xfa5f && w>>4&15 == 8:
		extract(o, rd, rm, 8)
	default:
		clobberOne(o, rd)
	}
}
