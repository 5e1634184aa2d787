package mips

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// processor is what the decoders of an ABI's encodings have in common: the variant of the
// instruction set, and the effects that differ with it (effect.go). Constants are as the
// register holds them: zero-extended on 32-bit registers, sign-extended from 32 bits on
// 64-bit ones.
type processor struct {
	byteOrder
	wide     bool // 64-bit registers
	r6       bool
	micro    bool // mode 1 is microMIPS, not MIPS16e
	loongson bool
	mask     uint64 // bits of an address
}

// decoder implements cpu.Decoder. Mode 0 is the standard encoding, mode 1 microMIPS or
// MIPS16e; each encoding has a decoder of its own.
type decoder struct{ processor }

func newDecoder(a abi, v variant, big bool) *decoder {
	p := processor{
		byteOrder: byteOrder{big}, wide: a.regSize == 8,
		r6: v == release6, micro: v == microMIPS || v == release6, loongson: v == loongson,
		mask: ^uint64(0),
	}
	if a.addrSize == 4 {
		p.mask = 0xffff_ffff
	}
	return &decoder{p}
}

// Decode implements cpu.Decoder.
func (d *decoder) Decode(code []byte, pc uint64, mode cpu.Mode, out []cpu.Insn) int {
	n, at := d.decode(code, pc, mode, out), uint64(0)
	for i := range out[:n] {
		if out[i].Op == cpu.OpCall && out[i].Target-(pc+at)&d.mask <= stepping.LongestCall && d.readsPC(code[at:], pc+at, mode) {
			out[i].Flags |= cpu.FlagGetPC
		}
		at += uint64(out[i].Len)
	}
	return n
}

// readsPC tells whether code at pc begins with a call that only reads the PC.
func (d *decoder) readsPC(code []byte, pc uint64, mode cpu.Mode) bool {
	var next [stepping.ReadsPCSpan]cpu.Insn
	n := d.decode(code, pc, mode, next[:])
	return n > 0 && stepping.ReadsPC(next[:n], pc&d.mask, mode)
}

// decode is Decode without what the code behind a call says of the call.
func (d *decoder) decode(code []byte, pc uint64, mode cpu.Mode, out []cpu.Insn) int {
	switch {
	case mode == 0:
		return standardDecoder{&d.processor}.decode(code, pc, out)
	case d.micro:
		return microDecoder{&d.processor}.decode(code, pc, out)
	}
	return mips16Decoder{&d.processor}.decode(code, pc, out)
}

func (d standardDecoder) decode(code []byte, pc uint64, out []cpu.Insn) int {
	n := 0
	for n < len(out) && len(code) >= 4 {
		i := &out[n]
		begin(i, 4)
		d.insn(d.word(code), pc&d.mask, i)
		code = code[4:]
		pc += 4
		n++
	}
	return n
}

// blank is an instruction without effect.
var blank = cpu.Insn{
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// begin starts an instruction of the given length. A composite literal here would
// be put together elsewhere and copied before its bytes are written.
func begin(i *cpu.Insn, length uint8) {
	*i = blank
	i.Len = length
}

// byteOrder reads what instructions are made of: words and halfwords.
type byteOrder struct{ big bool }

func (o byteOrder) word(b []byte) word {
	if o.big {
		return word(binary.BigEndian.Uint32(b))
	}
	return word(binary.LittleEndian.Uint32(b))
}

func (o byteOrder) half(b []byte) uint16 {
	if o.big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// word is an instruction in the standard encoding.
type word uint32

func (w word) op() uint32   { return uint32(w >> 26) }
func (w word) rs() cpu.Reg  { return cpu.Reg(w >> 21 & 31) }
func (w word) rt() cpu.Reg  { return cpu.Reg(w >> 16 & 31) }
func (w word) rd() cpu.Reg  { return cpu.Reg(w >> 11 & 31) }
func (w word) sa() uint32   { return uint32(w >> 6 & 31) }
func (w word) fn() uint32   { return uint32(w & 63) }
func (w word) imm() int64   { return int64(int16(w)) }
func (w word) immU() int64  { return int64(uint16(w)) }
func (w word) index() int64 { return int64(w&0x03ff_ffff) << 2 }

// branch16 is the target of a conditional branch.
func (w word) branch16(pc uint64) uint64 { return pc + 4 + uint64(w.imm()<<2) }

// branch21 and branch26 are the targets of release 6's compact branches.
func (w word) branch21(pc uint64) uint64 { return pc + 4 + uint64(signed(uint32(w), 21)<<2) }
func (w word) branch26(pc uint64) uint64 { return pc + 4 + uint64(signed(uint32(w), 26)<<2) }

// region is the target of j and jal: within the 256 MiB of the delay slot.
func (w word) region(pc uint64) uint64 { return (pc+4)&^0x0fff_ffff | uint64(w.index()) }

// signed sign-extends the low n bits of v.
func signed(v uint32, n uint) int64 { return int64(int32(v<<(32-n)) >> (32 - n)) }
