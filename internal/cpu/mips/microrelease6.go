package mips

import "github.com/backsight/backsight/cpu"

// release6 decodes the 32-bit opcodes that release 6 has changed: PC-relative
// operands and compact branches, told apart by register numbers as in the
// standard encoding.
func (d microDecoder) release6(w micro, pc uint64, i *cpu.Insn) {
	rt, rs := w.rt(), w.rs()
	switch w.op() {
	case 0x04: // aui, lui
		d.addImm(i, rt, rs, w.upper(), d.word32())
	case 0x10:
		d.pool32IR6(w, pc, i)
	case 0x1e:
		d.pcRelative(w, pc, i)
	case 0x25:
		d.jump(i, w.relative(pc, 26), 1, 0)
	case 0x2d:
		d.link(i, w.relative(pc, 26), 0)
	case 0x20, 0x28: // beqzc, bnezc; with rt zero jialc, jic
		d.far(w, pc, i)
	case 0x1d, 0x1f: // bovc, beqzalc, beqc; bnvc, bnezalc, bnec
		d.compact(w, pc, i, rs == Zero && rt != Zero)
	case 0x30, 0x38: // blezalc, bgezalc, bgeuc; bgtzalc, bltzalc, bltuc
		d.compact(w, pc, i, rs == Zero || rs == rt)
	case 0x35, 0x3d: // bgtzc, bltzc, bltc; blezc, bgezc, bgec
		d.compact(w, pc, i, false)
	default:
		unknown(i)
	}
}

func (d microDecoder) compact(w micro, pc uint64, i *cpu.Insn, links bool) {
	if links {
		d.link(i, w.relative(pc, 16), cpu.FlagConditional)
		return
	}
	d.condition(i, w.rs(), w.rt(), w.relative(pc, 16), 0)
}

func (d microDecoder) far(w micro, pc uint64, i *cpu.Insn) {
	switch {
	case w.rt() != Zero:
		d.condition(i, w.rt(), Zero, w.relative(pc, 21), 0)
	case w.op() == 0x28:
		jumpCompact(i, w.rs(), w.imm())
	default:
		callRegister(i, RA, w.rs(), 0)
		i.Imm = w.imm()
	}
}

func (d microDecoder) pool32IR6(w micro, pc uint64, i *cpu.Insn) {
	switch w.rt() {
	case 0x08, 0x09, 0x0a, 0x0b, 0x19: // bc1eqzc, bc1nezc, bc2eqzc, bc2nezc, bposge32c
		d.condition(i, cpu.NoReg, cpu.NoReg, w.relative(pc, 16), 0)
	case 0x0c: // synci
	default:
		unknown(i)
	}
}

// pcRelative is addiupc, lwpc, auipc and aluipc, by the rs field.
func (d microDecoder) pcRelative(w micro, pc uint64, i *cpu.Insn) {
	near := pc&^3 + uint64(signed(uint32(w), 19)<<2)
	far := pc + uint64(w.upper())
	switch rs := w.rs(); {
	case rs>>3 == 0:
		d.address(i, w.rt(), near)
	case rs>>3 == 1:
		d.loadLiteral(i, w.rt(), near, 4, d.signedWord())
	case rs == 0x1e:
		d.address(i, w.rt(), far)
	case rs == 0x1f:
		d.address(i, w.rt(), far&^0xffff)
	default:
		unknown(i)
	}
}

// pool16CR6 decodes release 6's rearranged pool 16C by bits 3–0.
func (d micro16Decoder) pool16CR6(h uint16, i *cpu.Insn) {
	r := cpu.Reg(h >> 5 & 31)
	switch h & 15 {
	case 0x0, 0x1, 0x8: // not, and, xor
		clobber(i, reg3(h>>7))
	case 0x9:
		d.or(i, reg3(h>>7), reg3(h>>7), reg3(h>>4))
	case 0x2, 0xa: // lwm, swm
		multiple(i, h&8 != 0, list16(h>>8), SP, int64(h>>4&15)<<2, 4)
	case 0x3: // jrc, jrcaddiusp
		if h&0x10 != 0 {
			returnAdding(i, int64(h>>5&31)<<2)
			return
		}
		jumpRegister(i, r, 0)
	case 0xb: // jalrc, break, sdbbp
		switch {
		case h&0x10 == 0:
			callRegister(i, RA, r, 0)
		case h&0x20 == 0:
			i.Op = cpu.OpTrap
		default:
			debugBreak(i)
		}
	case 0x4, 0x5, 0x6, 0x7, 0xc, 0xd, 0xe, 0xf:
		movePair(h, i)
	}
}
