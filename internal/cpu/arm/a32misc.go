package arm

import "github.com/backsight/backsight/cpu"

// a32Misc has the compare opcodes without S: status registers, branches to a
// register, saturating and halfword arithmetic (v7 A5.2.7, A5.2.12).
func a32Misc(w, pc uint32, o *cpu.Insn) {
	op, rd, rm := w>>21&3, field(w, 12), field(w, 0)
	if bit(w, 7) { // halfword multiply
		switch {
		case op == 2: // smlalxy
			clobber(o, cpu.SetOf(rd, field(w, 16)))
		default:
			clobberOne(o, field(w, 16))
		}
		return
	}
	switch w >> 4 & 7 {
	case 0: // mrs; msr
		if op&1 == 0 {
			clobberOne(o, rd)
		}
	case 1:
		switch {
		case op == 1 && rm == PC:
			branch(o, pc+8, 0)
		case op == 1: // bx
			jumpReg(o, rm)
		case op == 3: // clz
			clobberOne(o, rd)
		default:
			unknown(o)
		}
	case 2: // bxj
		if op == 1 {
			jumpReg(o, rm)
		} else {
			unknown(o)
		}
	case 3:
		if op == 1 {
			callReg(o, rm)
		} else {
			unknown(o)
		}
	case 4, 5: // crc32; qadd
		clobberOne(o, rd)
	case 6:
		if op == 3 { // eret
			exceptionReturn(o)
		} else {
			unknown(o)
		}
	default:
		a32Exception(op, w>>4&0xfff0|w&15, o)
	}
}

// semihostA32 is HLT's immediate for a semihosting call ("Semihosting for
// AArch32 and AArch64"), which comes back.
const semihostA32 = 0xf000

// a32Exception has the instructions that raise one: HLT, BKPT, HVC, SMC.
func a32Exception(op, imm uint32, o *cpu.Insn) {
	if op >= 2 || op == 0 && imm == semihostA32 {
		supervisor(o, imm)
		return
	}
	o.Op = cpu.OpTrap
}

// a32Multiply has multiplies and synchronization (v7 A5.2.5, A5.2.10).
func a32Multiply(w uint32, o *cpu.Insn) {
	rd, rt := field(w, 16), field(w, 12)
	if bit(w, 24) {
		a32Exclusive(w, o)
		return
	}
	switch w >> 21 & 7 {
	case 0, 1, 3: // mul, mla, mls
		clobberOne(o, rd)
	default: // umaal, umull, umlal, smull, smlal
		clobber(o, cpu.SetOf(rd, rt))
	}
}

// a32Exclusive has SWP, the load and store exclusive, and the load-acquire and
// store-release of ARMv8, which bits 9:8 tell apart.
func a32Exclusive(w uint32, o *cpu.Insn) {
	rn, rt := field(w, 16), field(w, 12)
	if !bit(w, 23) { // swp, swpb
		clobberOne(o, rt)
		return
	}
	k := bitKind(w, 20) | [4]kind{word, word, 0, half}[w>>21&3]
	switch {
	case !k.load() && w>>8&3 == 0: // stl: no outcome
		access(o, k, field(w, 0), rn, 0, true, false, 0)
	case !k.load():
		clobberOne(o, rt)
	case w>>21&3 == 1:
		doubleword(o, k, rt, rn)
	default:
		access(o, k, rt, rn, 0, true, false, 0)
	}
}

// doubleword is LDREXD and LDAEXD in A32.
func doubleword(o *cpu.Insn, k kind, rt, rn cpu.Reg) {
	if rt >= LR {
		unknown(o)
		return
	}
	access(o, k, rt, rn, 0, true, false, 0)
	pair(o, rt+1)
}

// a32Extra has the loads and stores of halfwords, signed bytes and doublewords
// (v7 A5.2.8, A5.2.9).
func a32Extra(w, pc uint32, o *cpu.Insn) {
	// By L and op; ldrd and strd have L clear.
	k := [8]kind{1: half, 2: word | loads, 3: word, 5: half | loads, 6: loads | signs, 7: half | loads | signs}[w>>18&4|w>>5&3]
	rn, rt := field(w, 16), field(w, 12)
	two := k&word != 0
	if two && rt >= LR {
		unknown(o)
		return
	}
	p, up, write := bit(w, 24), bit(w, 23), bit(w, 21)
	switch {
	case bit(w, 22):
		off := w>>4&0xf0 | w&15
		if !up {
			off = -off
		}
		access(o, k, rt, rn, int32(off), p, write, pc+8)
	case p && up && !write:
		accessIndexed(o, k, rt, rn, field(w, 0), 0, pc+8)
	default:
		accessUntold(o, k, rt, rn, !p || write)
		if two && k.load() {
			clobber(o, o.List.With(rt+1))
		}
		return
	}
	if two {
		pair(o, rt+1)
	}
}

// a32Media is v7 A5.4: parallel arithmetic, packing, extension, division, bit
// fields.
func a32Media(w uint32, o *cpu.Insn) {
	op, sub, rd, rm := w>>20&31, w>>5&7, field(w, 12), field(w, 0)
	switch {
	case op < 16:
		switch {
		case w&0x0fff_0ff0 == 0x06ef_0070: // uxtb
			extract(o, rd, rm, 8)
		case w&0x0fff_0ff0 == 0x06ff_0070: // uxth
			extract(o, rd, rm, 16)
		default:
			clobberOne(o, rd)
		}
	case op == 20: // smlald, smlsld
		clobber(o, cpu.SetOf(rd, field(w, 16)))
	case op < 25: // smlad, sdiv, udiv, smmla, usad8
		clobberOne(o, field(w, 16))
	case op>>1 == 14 && sub&3 == 0: // bfc; bfi
		if rm == PC {
			clearField(o, rd, w>>7&31, w>>16&31)
		} else {
			clobberOne(o, rd)
		}
	case op>>1 == 15 && sub&3 == 2 && w>>7&31 == 0: // ubfx from bit 0
		extract(o, rd, rm, w>>16&31+1)
	case sub&3 == 2: // sbfx, ubfx
		clobberOne(o, rd)
	case op == 31 && sub == 7: // udf
		o.Op = cpu.OpTrap
	default:
		unknown(o)
	}
}

// a32Always is the space of condition 1111 (v7 A5.7).
func a32Always(w, pc uint32, o *cpu.Insn) {
	rn := field(w, 16)
	switch op := w >> 20 & 0xff; {
	case op>>5 == 5: // blx
		target := pc + 8 + signed(w, 24)<<2 + w>>23&2
		call(o, target, 1)
	case op>>5 == 4:
		a32Mode(w, rn, o)
	case op>>4 == 15:
		unknown(o)
	case op>>4 == 14:
		coproc(w, o, true)
	case op>>5 == 6:
		coprocTransfer(w, o, pc+8, true)
	case op>>5 == 1: // Advanced SIMD data processing
	case op>>4 == 4 && op&1 == 0:
		simdTransfer(w, o)
	case op == 0x10 && bit(w, 17): // cps #mode: other banked registers
		clobber(o, cpu.SetOf(SP, LR))
	}
	// What is left: cps, setend, preload hints, barriers, clrex.
}

// a32Mode is RFE and SRS. SRS stores on the stack of a mode it names, which is
// in general not the current one.
func a32Mode(w uint32, rn cpu.Reg, o *cpu.Insn) {
	switch {
	case bit(w, 20) && !bit(w, 22):
		returnFromException(o, rn, bit(w, 24), bit(w, 23), bit(w, 21))
	case bit(w, 20) == bit(w, 22):
		unknown(o)
	}
}
