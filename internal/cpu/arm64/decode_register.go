package arm64

import "github.com/backsight/backsight/cpu"

// logicalShifted is and, orr, eor, ands and their negations. mov is orr with
// xzr.
func logicalShifted(w uint32, in *cpu.Insn) {
	rd, rn, rm := regZ(w, 0), regZ(w, 5), regZ(w, 16)
	// orr with no shift: opc 01, N 0, shift 0, amount 0.
	if w&0x60e0fc00 != 0x20000000 || rd == cpu.NoReg {
		clobber(in, rd)
		return
	}
	either := rn
	if rn == cpu.NoReg {
		either = rm
	}
	switch {
	case either == cpu.NoReg:
		constant(in, rd, 0)
		return
	case rn == cpu.NoReg || rm == cpu.NoReg:
		unary(in, cpu.OpMove, rd, either, 0)
	default:
		in.Op, in.Dst, in.Src, in.Src2 = cpu.OpOr, rd, rn, rm
	}
	word32(w, in)
}

// addSubRegister has no sp unless it extends: 31 is xzr everywhere.
func addSubRegister(w uint32, in *cpu.Insn) {
	if bit(w, 21) {
		addSubExtended(w, in)
		return
	}
	const lsl = 0
	if w>>22&3 != lsl {
		clobber(in, regZ(w, 0))
		return
	}
	addSub(w, regZ(w, 0), regZ(w, 5), regZ(w, 16), uint8(w>>10&63), in)
}

// addSubExtended has sp as the first operand and, without S, as the result. An
// index of the full width is sub sp, sp, x16; signed narrower ones are the elements
// of jump tables (add x4, x1, w4, sxth #2), unsigned ones are not followed.
func addSubExtended(w uint32, in *cpu.Insn) {
	rd := regS(w, 0)
	if bit(w, 29) {
		rd = regZ(w, 0)
	}
	full := uint32(2) // uxtw, sxtw
	if bit(w, 31) {
		full = 3 // uxtx, sxtx
	}
	option := w >> 13 & 7
	if option&3 != full && !(option&4 != 0 && full == 3) {
		clobber(in, rd)
		return
	}
	addSub(w, rd, regS(w, 5), regZ(w, 16), uint8(w>>10&7), in)
	if option&3 != full && in.Op != cpu.OpClobber {
		in.Size, in.Flags = 1<<(option&3), in.Flags|cpu.FlagSigned
	}
}

func addSub(w uint32, rd, rn, rm cpu.Reg, scale uint8, in *cpu.Insn) {
	if rd == cpu.NoReg || rn == cpu.NoReg || rm == cpu.NoReg { // cmp, neg
		clobber(in, rd)
		return
	}
	in.Op = cpu.OpAdd
	if bit(w, 30) {
		in.Op = cpu.OpSub
	}
	in.Dst, in.Src, in.Src2, in.Scale = rd, rn, rm, scale
	word32(w, in)
}

// dataOther is adc, ccmp, csel, and instructions of one and two sources, by
// bits 23..21.
func dataOther(w uint32, in *cpu.Insn) {
	rd := regZ(w, 0)
	switch w >> 21 & 7 {
	case 0:
		switch {
		case w&0xfc00 == 0: // adc, sbc
			clobber(in, rd)
		case w&0xe000 == 0x2000: // addpt, subpt
			clobber(in, regS(w, 0))
		}
		// rmif, setf8, setf16 write flags.
	case 2: // ccmp
	case 4: // csel
		clobber(in, rd)
	case 6:
		if bit(w, 30) {
			oneSource(w, in)
			return
		}
		const irg = 4 // whose result may be sp
		if w>>10&63 == irg {
			rd = regS(w, 0)
		}
		clobber(in, rd)
	default:
		unknown(in, rd)
	}
}

// oneSource is rbit, clz, … and the pointer authentication of any register.
// The instructions of PAuth_LR have x30 or x17 for their implied operand.
func oneSource(w uint32, in *cpu.Insn) {
	rd, opcode := regZ(w, 0), w>>10&63
	if w>>16&31 != 1 {
		clobber(in, rd)
		return
	}
	switch opcode {
	case 0x20, 0x21, 0x28, 0x29: // pacnbiasppc, pacnbibsppc, paciasppc, pacibsppc
		sign(in)
		in.Flags |= cpu.FlagEntry
	case 0x22, 0x23, 0x2e, 0x2f: // pacia171615, pacib171615, autia171615, autib171615
		clobber(in, X17)
	default: // pacia, autia, xpaci, autiasppcr, …
		if rd == X30 {
			sign(in)
			return
		}
		clobber(in, rd)
	}
}
