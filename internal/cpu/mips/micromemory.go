package mips

import "github.com/backsight/backsight/cpu"

// pool32B decodes pairs and lists of registers by bits 15–12.
func (d microPools) pool32B(w micro, i *cpu.Insn) {
	rt, base, imm := w.rt(), w.rs(), w.imm12()
	switch w >> 12 & 15 {
	case 0x1, 0x4: // lwp, ldp
		d.loadPair(i, rt, base, imm, uint8(w>>12&4+4))
	case 0x9, 0xc: // swp, sdp
		store(i, rt, base, imm, uint8(w>>12&4+4))
		i.Src2 = rt + 1
	case 0x5, 0xd: // lwm, swm
		multiple(i, w&0x8000 != 0, list32(rt), base, imm, 4)
	case 0x7, 0xf: // ldm, sdm
		multiple(i, w&0x8000 != 0, list32(rt), base, imm, 8)
	case 0x8: // swc2
		store(i, cpu.NoReg, base, d.offset2(w), 4)
	case 0xa: // sdc2
		store(i, cpu.NoReg, base, d.offset2(w), 8)
	case 0x0, 0x2, 0x3, 0x6, 0xb: // lwc2, ldc2, aset, cache, aclr
	default:
		unknown(i)
	}
}

// offset2 is the offset of coprocessor 2's stores, 11 bits in release 6.
func (d microPools) offset2(w micro) int64 {
	if d.r6 {
		return signed(uint32(w), 11)
	}
	return w.imm12()
}

// loadPair is lwp and ldp, into rt and the register behind it.
func (d microPools) loadPair(i *cpu.Insn, rt, base cpu.Reg, imm int64, size uint8) {
	if rt == Zero || rt == RA {
		clobberSet(i, cpu.SetOf(rt, rt+1)&^cpu.SetOf(PC))
		return
	}
	flags := cpu.Flags(0)
	if size == 4 {
		flags = d.signedWord()
	}
	load(i, rt, base, imm, size, flags)
	i.Dst2 = rt + 1
}

// list32 is the register list of lwm32 and swm32: the low bits count s0–s7 and
// s8, bit 4 adds ra.
func list32(code cpu.Reg) cpu.RegSet {
	var regs cpu.RegSet
	count := code & 15
	for n := range min(count, 8) {
		regs = regs.With(S0 + n)
	}
	if count == 9 {
		regs = regs.With(S8)
	}
	if code&16 != 0 {
		regs = regs.With(RA)
	}
	if count > 9 {
		return 0
	}
	return regs
}

// pool32C decodes unaligned and linked accesses by bits 15–12, and the EVA's
// under 6 and 10.
func (d microPools) pool32C(w micro, i *cpu.Insn) {
	rt, base, imm := w.rt(), w.rs(), w.imm12()
	short9 := signed(uint32(w), 9) // in release 6 also of ll and sc
	switch w >> 12 & 15 {
	case 0x3: // ll
		if d.r6 {
			imm = short9
		}
		d.loadWord(i, rt, base, imm)
	case 0x7: // lld
		load(i, rt, base, imm, 8, 0)
	case 0xe: // lwu
		load(i, rt, base, imm, 4, 0)
	case 0x0, 0x1, 0x4, 0x5, 0xb, 0xf: // lwl, lwr, ldl, ldr, sc, scd
		clobber(i, rt)
	case 0x8, 0x9: // swl, swr
		storePart(i, base, imm, 4)
	case 0xc, 0xd: // sdl, sdr
		storePart(i, base, imm, 8)
	case 0x6:
		d.pool32CLoad(w, i, short9)
	case 0xa:
		pool32CStore(w, i, short9)
	case 0x2: // pref
	default:
		unknown(i)
	}
}

func (d microPools) pool32CLoad(w micro, i *cpu.Insn, imm int64) {
	rt, base := w.rt(), w.rs()
	switch w >> 9 & 7 {
	case 0:
		load(i, rt, base, imm, 1, 0)
	case 1:
		load(i, rt, base, imm, 2, 0)
	case 2, 3: // lwle, lwre
		clobber(i, rt)
	case 4:
		load(i, rt, base, imm, 1, cpu.FlagSigned)
	case 5:
		load(i, rt, base, imm, 2, cpu.FlagSigned)
	case 6, 7: // lle, lwe
		d.loadWord(i, rt, base, imm)
	}
}

func pool32CStore(w micro, i *cpu.Insn, imm int64) {
	rt, base := w.rt(), w.rs()
	switch w >> 9 & 7 {
	case 0, 1: // swle, swre
		storePart(i, base, imm, 4)
	case 4:
		store(i, rt, base, imm, 1)
	case 5:
		store(i, rt, base, imm, 2)
	case 6: // sce
		clobber(i, rt)
	case 7:
		store(i, rt, base, imm, 4)
	}
}

// pool32F decodes what of the floating-point unit touches general registers and
// memory: moves on a condition, moves between the files, indexed stores.
func (d microPools) pool32F(w micro, i *cpu.Insn) {
	switch w.minor() {
	case 0x08:
		switch w.group() {
		case 2: // swxc1
			store(i, cpu.NoReg, w.rs(), 0, 4)
			i.Index = w.rt()
		case 4, 6: // sdxc1, suxc1
			store(i, cpu.NoReg, w.rs(), 0, 8)
			i.Index = w.rt()
		}
	case 0x3b:
		extension := w >> 10 & 63
		switch g := w.group(); {
		case g == 5 && extension&5 == 0 && !d.r6: // movf, movt
			d.moveIf(i, w.rt(), w.rs())
		case g == 0 && (extension == 0x04 || extension == 0x08 || extension == 0x09 || extension == 0x0c):
			clobber(i, w.rt()) // cfc1, mfc1, dmfc1, mfhc1
		}
	}
}

// pool32S decodes the doubleword operations, and the MSA ASE, which shares the
// opcode.
func (d microPools) pool32S(w micro, i *cpu.Insn) {
	rt, rs, rd := w.rt(), w.rs(), w.rd()
	lsb := uint32(w >> 6 & 31)
	switch w.minor() {
	case 0x00, 0x08: // shifts; those by 32 and more
		if w.group() == 0 {
			shiftLeft(i, rt, rs, uint32(rd)+uint32(w&8)<<2, 0)
			return
		}
		clobber(i, rt)
	case 0x10:
		d.pool32SArithmetic(w, i)
	case 0x1c: // daddi
		d.addImm(i, rt, rs, signed(uint32(w>>6), 10), 0)
	case 0x20: // dlsa
		scaledAdd(i, rd, rs, rt, uint8(w>>9&3+1), 0)
	case 0x0c: // dins
		insertZero(i, rt, rs, lsb, uint32(rd)-lsb+1)
	case 0x04: // dinsm
		insertZero(i, rt, rs, lsb, uint32(rd)+33-lsb)
	case 0x34: // dinsu
		insertZero(i, rt, rs, lsb+32, uint32(rd)-lsb+1)
	case 0x14, 0x24, 0x2c: // dextu, dextm, dext
		clobber(i, rt)
	case 0x3c:
		pool32Sxf(w, i)
	case 0x16: // MSA: copy_s, copy_u, cfcmsa
		if op := w >> 22 & 15; op == 2 || op == 3 || w>>16&0x3ff == 0x07e {
			clobber(i, cpu.Reg(lsb))
		}
	case 0x0f, 0x1f, 0x2f, 0x3f: // st.b … st.d
		store(i, cpu.NoReg, rd, signed(uint32(w>>16), 10)<<(w.minor()>>4), 16)
	case 0x05: // release 6: DSP compares
		clobber(i, rd)
	}
}

func (d microPools) pool32SArithmetic(w micro, i *cpu.Insn) {
	rd, rs, rt := w.rd(), w.rs(), w.rt()
	switch w.group() {
	case 4, 5:
		d.add(i, rd, rs, rt, 0)
	case 6, 7:
		d.sub(i, rd, rs, rt, 0)
	default: // dsllv …
		clobber(i, rd)
	}
}

// pool32Sxf is dmfc0, dmfgc0 and unary operations; dmtc0 and dmult to ddivu write
// no general register.
func pool32Sxf(w micro, i *cpu.Insn) {
	switch w.group() {
	case 3:
		clobber(i, w.rt())
	case 12:
		if e := w >> 10 & 63; e == 0x22 || e == 0x26 || e == 0x2a || e == 0x2e {
			clobberSet(i, cpu.SetOf(HI, LO))
			return
		}
		clobber(i, w.rt())
	}
}
