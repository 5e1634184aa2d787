package mips

import "github.com/backsight/backsight/cpu"

// loongsonMemory decodes the loads and stores that the GS464 put in place of
// lwc2, ldc2, swc2 and sdc2 (binutils mips-opc.c, "Loongson-ext"): of register
// pairs, bound-checked, and indexed.
func (d coprocessorDecoder) loongsonMemory(w word, i *cpu.Insn) {
	switch w.op() {
	case 0x32:
		loongsonLoad(w, i)
	case 0x3a:
		loongsonStore(w, i)
	case 0x36:
		d.loongsonIndexedLoad(w, i)
	case 0x3e:
		loongsonIndexedStore(w, i)
	}
}

const (
	pairBit  = 0x20   // gslq, gssq: two doublewords
	floatBit = 0x8000 // gslqc1, gssqc1: of the floating-point unit
)

func pairOffset(w word) int64 { return signed(uint32(w>>6), 9) << 4 }

func loongsonLoad(w word, i *cpu.Insn) {
	switch {
	case w&pairBit == 0:
		if w.fn() >= 0x10 && w.fn() <= 0x17 { // gslble … gsldgt
			clobber(i, w.rt())
		}
	case w&floatBit == 0: // gslq
		second := cpu.Reg(w & 31)
		if w.rt() == Zero || second == Zero {
			clobberSet(i, cpu.SetOf(w.rt(), second))
			return
		}
		load(i, w.rt(), w.rs(), pairOffset(w), 8, 0)
		i.Dst2 = second
	}
}

func loongsonStore(w word, i *cpu.Insn) {
	switch {
	case w&pairBit != 0 && w&floatBit == 0: // gssq
		store(i, w.rt(), w.rs(), pairOffset(w), 8)
		i.Src2 = cpu.Reg(w & 31)
	case w&pairBit != 0:
		store(i, cpu.NoReg, w.rs(), pairOffset(w), 16)
	case w.fn() >= 0x10 && w.fn() <= 0x17: // gssble … gssdgt
		store(i, w.rt(), w.rs(), 0, 1<<(w.fn()>>1&3))
	case w.fn() >= 0x18: // gsswlec1 … gssdgtc1
		store(i, cpu.NoReg, w.rs(), 0, 8)
	default: // gsswlc1 … gssdrc1: parts of the aligned doubleword
		storePart(i, w.rs(), signed(uint32(w>>6), 8), 8)
	}
}

func (d coprocessorDecoder) loongsonIndexedLoad(w word, i *cpu.Insn) {
	offset := signed(uint32(w>>3), 8)
	size := w.fn() & 7
	if size > 3 { // gslwxc1, gsldxc1
		return
	}
	flags := cpu.FlagSigned
	switch size {
	case 2:
		flags = d.signedWord()
	case 3:
		flags = 0
	}
	loadIndexed(i, w.rt(), w.rs(), w.rd(), 0, 1<<size, flags)
	if w.rt() != Zero {
		i.Imm = offset
	}
}

func loongsonIndexedStore(w word, i *cpu.Insn) {
	src, size := w.rt(), w.fn()&7
	if size > 3 { // gsswxc1, gssdxc1
		src, size = cpu.NoReg, size&3
	}
	store(i, src, w.rs(), signed(uint32(w>>3), 8), 1<<size)
	i.Index = w.rd()
}
