package mips

import "github.com/backsight/backsight/cpu"

// special3 decodes opcode 0x1f: bit fields, EVA loads and stores, the DSP ASE,
// and the memory instructions that release 6 moved here.
func (d standardDecoder) special3(w word, i *cpu.Insn) {
	rd, rs, rt := w.rd(), w.rs(), w.rt()
	msb, lsb := uint32(rd), w.sa()
	switch w.fn() {
	case 0x00, 0x01, 0x02, 0x03: // ext, dextm, dextu, dext
		clobber(i, rt)
	case 0x04, 0x07: // ins, dins
		insertZero(i, rt, rs, lsb, msb-lsb+1)
	case 0x05: // dinsm
		insertZero(i, rt, rs, lsb, msb+33-lsb)
	case 0x06: // dinsu
		insertZero(i, rt, rs, lsb+32, msb-lsb+1)
	case 0x0a:
		d.indexedLoad(w, i)
	case 0x0c, 0x0d, 0x0f, 0x31: // insv, dinsv, crc32, append
		clobber(i, rt)
	case 0x09, // yield
		0x10, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, // DSP arithmetic
		0x20, 0x24: // wsbh, seb, seh, align, dsbh, dshd, dalign
		clobber(i, rd)
	case 0x11, 0x15: // DSP compare and precision; precr_sra, precr_sra_r write rt
		if sa := w.sa(); w.fn() == 0x11 && sa >= 0x1e {
			clobber(i, rt)
		} else {
			clobber(i, rd)
		}
	case 0x30, 0x34: // DSP dot products
		clobberAccumulator(w, i, HI, LO)
	case 0x35: // dappend; release 6: pref
		if !d.r6 {
			clobber(i, rt)
		}
	case 0x38, 0x3c:
		extract(w, i)
	case 0x3b: // rdhwr
		clobber(i, rt)
	case 0x08, 0x1b, 0x23, 0x25, 0x3d: // fork, cachee, prefe, cache, ginv
	default:
		d.special3Memory(w, i)
	}
}

// indexedLoad is lwx, lhx, lbux and ldx of the DSP ASE, and Cavium's lbx, lhux
// and lwux.
func (d standardDecoder) indexedLoad(w word, i *cpu.Insn) {
	size, flags := uint8(0), cpu.Flags(0)
	switch w.sa() {
	case 0x00:
		size, flags = 4, d.signedWord()
	case 0x04:
		size, flags = 2, cpu.FlagSigned
	case 0x06:
		size = 1
	case 0x08:
		size = 8
	case 0x10:
		size = 4
	case 0x14:
		size = 2
	case 0x16:
		size, flags = 1, cpu.FlagSigned
	default:
		clobber(i, w.rd())
		return
	}
	loadIndexed(i, w.rd(), w.rs(), w.rt(), 0, size, flags)
}

// extract decodes EXTR.W and DEXTR.W: extractions into rt; rddsp writes rd,
// wrdsp none, shilo, shilov and mthlip an accumulator.
func extract(w word, i *cpu.Insn) {
	switch sa := w.sa(); {
	case sa < 0x12, sa < 0x18 && w.fn() == 0x3c:
		clobber(i, w.rt())
	case sa == 0x12:
		clobber(i, w.rd())
	case sa >= 0x1a:
		clobberAccumulator(w, i, HI, LO)
	}
}

// special3Memory decodes the loads and stores with 9-bit offsets.
func (d standardDecoder) special3Memory(w word, i *cpu.Insn) {
	rt, base, imm := w.rt(), w.rs(), signed(uint32(w>>7), 9)
	pair := w&0x40 != 0 // llwp, lldp, scwp, scdp: rd is the second register
	switch w.fn() {
	case 0x28:
		load(i, rt, base, imm, 1, 0)
	case 0x29:
		load(i, rt, base, imm, 2, 0)
	case 0x2c:
		load(i, rt, base, imm, 1, cpu.FlagSigned)
	case 0x2d:
		load(i, rt, base, imm, 2, cpu.FlagSigned)
	case 0x2f:
		d.loadWord(i, rt, base, imm)
	case 0x2e, 0x36, 0x37: // lle, ll, lld
		switch {
		case pair:
			clobberSet(i, cpu.SetOf(rt, w.rd()))
		case w.fn() == 0x37:
			load(i, rt, base, imm, 8, 0)
		default:
			d.loadWord(i, rt, base, imm)
		}
	case 0x19, 0x1a, 0x1e, 0x26, 0x27: // lwle, lwre, sce, sc, scd
		clobber(i, rt)
	case 0x1c:
		store(i, rt, base, imm, 1)
	case 0x1d:
		store(i, rt, base, imm, 2)
	case 0x1f:
		store(i, rt, base, imm, 4)
	case 0x21, 0x22: // swle, swre
		storePart(i, base, imm, 4)
	default:
		unknown(i)
		i.List = cpu.SetOf(rt, w.rd()).Without(Zero)
	}
}
