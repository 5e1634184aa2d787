package mips

import "github.com/backsight/backsight/cpu"

// microPools decodes the pools of microMIPS: the major opcodes that further fields divide.
type microPools struct{ *processor }

// pool32A decodes register operations by bits 5–0, then 9–6.
func (d microPools) pool32A(w micro, i *cpu.Insn) {
	rt, rd := w.rt(), w.rd()
	switch w.minor() {
	case 0x00:
		if w == 0 {
			i.Flags = cpu.FlagPadding
			return
		}
		d.pool32AShift(w, i)
	case 0x10:
		d.pool32AArithmetic(w, i)
	case 0x18: // movn, movz, lwxs; release 6: mul … modu
		d.pool32AMove(w, i)
	case 0x07: // break
		i.Op = cpu.OpTrap
	case 0x3f:
		if d.r6 { // sigrie
			i.Op = cpu.OpTrap
		}
	case 0x0c: // ins
		insertZero(i, rt, w.rs(), uint32(w>>6&31), uint32(rd)-uint32(w>>6&31)+1)
	case 0x2c: // ext
		clobber(i, rt)
	case 0x20: // lsa
		scaledAdd(i, rd, w.rs(), rt, uint8(w>>9&3+1), d.word32())
	case 0x0f: // lsa of release 6: assemblers disagree which field it writes
		clobberSet(i, cpu.SetOf(rt, rd))
	case 0x1f, 0x3e, 0x0e, 0x2d, 0x3d: // align, DSP
		clobber(i, rd)
	case 0x05: // DSP compares write nothing
		if g := w.group(); g > 2 && (g < 9 || g > 11) {
			clobber(i, rd)
		}
	case 0x0d:
		if w.group() == 15 { // precr_sra, precr_sra_r
			clobber(i, rt)
			return
		}
		clobber(i, rd)
	case 0x15:
		if g := w.group(); g == 8 || g == 9 { // append, prepend
			clobber(i, rt)
			return
		}
		clobber(i, rd)
	case 0x25:
		d.indexedLoad(w, i)
	case 0x1d: // shilo
		microAccumulator(w, i)
	case 0x34: // mfhc0, mfhgc0
		if w.group() == 3 {
			clobber(i, rt)
		}
	case 0x35: // DSP shifts
		clobber(i, rt)
	case 0x3c:
		d.pool32Axf(w, i)
	default:
		if w&7 == 2 { // cop2
			return
		}
		unknown(i)
		i.List = cpu.SetOf(rt, rd).Without(Zero)
	}
}

func (d microPools) pool32AShift(w micro, i *cpu.Insn) {
	switch w.group() {
	case 0:
		shiftLeft(i, w.rt(), w.rs(), uint32(w.rd()), d.word32())
	case 1, 2, 3: // srl, sra, ror
		clobber(i, w.rt())
	case 5, 6: // seleqz, selnez
		clobber(i, w.rd())
	default:
		unknown(i)
	}
}

func (d microPools) pool32AArithmetic(w micro, i *cpu.Insn) {
	rd, rs, rt := w.rd(), w.rs(), w.rt()
	switch w.group() {
	case 4, 5:
		d.add(i, rd, rs, rt, d.word32())
	case 6, 7:
		d.sub(i, rd, rs, rt, d.word32())
	case 10:
		d.or(i, rd, rs, rt)
	default:
		clobber(i, rd)
	}
}

func (d microPools) pool32AMove(w micro, i *cpu.Insn) {
	switch g := w.group(); {
	case d.r6:
		clobber(i, w.rd())
	case g == 4: // lwxs
		loadIndexed(i, w.rd(), w.rs(), w.rt(), 2, 4, d.signedWord())
	case g <= 1: // movn, movz
		d.moveIf(i, w.rd(), w.rs())
	default:
		unknown(i)
		i.List = cpu.SetOf(w.rd()).Without(Zero)
	}
}

// indexedLoad is lhx, lwx and lbux among other DSP instructions.
func (d microPools) indexedLoad(w micro, i *cpu.Insn) {
	switch w.group() {
	case 5:
		loadIndexed(i, w.rd(), w.rs(), w.rt(), 0, 2, cpu.FlagSigned)
	case 6:
		loadIndexed(i, w.rd(), w.rs(), w.rt(), 0, 4, d.signedWord())
	case 8:
		loadIndexed(i, w.rd(), w.rs(), w.rt(), 0, 1, 0)
	default:
		clobber(i, w.rd())
	}
}

// microAccumulator is a write to hi and lo if bits 15–14 choose accumulator 0.
func microAccumulator(w micro, i *cpu.Insn) {
	if w>>14&3 == 0 {
		clobberSet(i, cpu.SetOf(HI, LO))
	}
}

// pool32Axf decodes the last corner of pool 32A by bits 9–6; extension is what
// bits 15–10 add.
func (d microPools) pool32Axf(w micro, i *cpu.Insn) {
	extension := uint32(w >> 10 & 63)
	switch w.group() {
	case 0: // teq, tgeu, tlt, tne
		if extension&3 == 0 && w.rt() == w.rs() {
			i.Op = cpu.OpTrap
		}
	case 8, 11: // tge, tltu; mtc0, mtgc0
	case 1, 5:
		pool32AxfMoves(w, extension, i)
	case 2: // DSP dot products; balign, extpv, extpdpv
		if e := extension & 15; e == 2 || e == 10 || e == 14 {
			clobber(i, w.rt())
			return
		}
		microAccumulator(w, i)
	case 10: // DSP dot products, madd …; extrv …
		if extension&3 == 3 {
			clobber(i, w.rt())
			return
		}
		microAccumulator(w, i)
	case 9: // extr …, rddsp; maq …; wrdsp
		switch {
		case extension&15 == 5:
		case extension&1 != 0:
			clobber(i, w.rt())
		default:
			microAccumulator(w, i)
		}
	case 3, 7, 15: // mfc0, mfgc0; DSP shifts
		clobber(i, w.rt())
	case 4: // DSP; mfc2, dmfc2, mfhc2, cfc2, and the moves to
		if extension&7 != 7 {
			clobber(i, w.rt())
		}
	case 12:
		d.pool32AxfUnary(w, extension, i)
	case 13:
		d.pool32AxfSystem(w, extension, i)
	default:
		unknown(i)
		i.List = cpu.SetOf(w.rt()).Without(Zero)
	}
}

// pool32AxfMoves decodes mfhi, mflo, mthi and mtlo (bits 13–12, of accumulator
// 15–14), rdpgpr, dvp, evp, and DSP shifts.
func pool32AxfMoves(w micro, extension uint32, i *cpu.Insn) {
	switch {
	case w.group() == 5 && extension == 0x38: // rdpgpr
		clobber(i, w.rt())
	case w.group() == 5 && (extension == 0x06 || extension == 0x0e): // dvp, evp
		clobber(i, w.rs())
	case w.group() == 1 && extension&3 == 2: // shll.qb, shrl.qb
		clobber(i, w.rt())
	case w.group() == 1 && extension&3 == 0, w.group() == 5 && extension&0x33 == 3:
		switch extension >> 2 & 3 {
		case 0, 1:
			clobber(i, w.rs())
		case 2:
			microAccumulatorPart(extension, i, HI)
		case 3:
			microAccumulatorPart(extension, i, LO)
		}
	}
}

func microAccumulatorPart(extension uint32, i *cpu.Insn, r cpu.Reg) {
	if extension>>4 == 0 {
		clobber(i, r)
	}
}

// pool32AxfUnary decodes jalr and its kin, mult and its kin, and operations from
// rs to rt.
func (d microPools) pool32AxfUnary(w micro, extension uint32, i *cpu.Insn) {
	switch extension {
	case 0x03, 0x07, 0x13, 0x17: // jalr, jalr.hb, jalrs, jalrs.hb; jr with rt zero
		callRegister(i, w.rt(), w.rs(), micro16Decoder(d).delaySlot())
	case 0x22, 0x26, 0x2a, 0x2e, 0x32, 0x36, 0x3a, 0x3e: // mult … msubu
		clobberSet(i, cpu.SetOf(HI, LO))
	case 0x02: // bitswap
		clobber(i, w.rs())
	default:
		clobber(i, w.rt())
	}
}

// pool32AxfSystem decodes what only a kernel uses, and syscall.
func (d microPools) pool32AxfSystem(w micro, extension uint32, i *cpu.Insn) {
	switch extension {
	case 0x11, 0x15: // di, ei
		clobber(i, w.rs())
	case 0x22, 0x30: // syscall, hypcall
		d.syscall(i, int64(w>>16&0x3ff))
	case 0x36:
		debugBreak(i)
	case 0x34, 0x38, 0x3c: // iret, deret, eret
		i.Op, i.Src, i.Flags = cpu.OpReturn, PC, cpu.FlagException
	}
}
