package mips

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// decoder decodes one variant of the instruction set. Constants are as the
// register holds them: zero-extended on 32-bit registers, sign-extended from 32
// bits on 64-bit ones.
type decoder struct {
	big      bool
	wide     bool // 64-bit registers
	r6       bool
	micro    bool // mode 1 is microMIPS, not MIPS16e
	loongson bool
	mask     uint64 // bits of an address
}

func newDecoder(a abi, v variant, big bool) *decoder {
	d := &decoder{
		big: big, wide: a.regSize == 8,
		r6: v == release6, micro: v == microMIPS || v == release6, loongson: v == loongson,
		mask: ^uint64(0),
	}
	if a.addrSize == 4 {
		d.mask = 0xffff_ffff
	}
	return d
}

// Decode implements cpu.Decoder.
func (d *decoder) Decode(code []byte, pc uint64, mode cpu.Mode, out []cpu.Insn) int {
	switch {
	case mode == 0:
		return d.decodeStandard(code, pc, out)
	case d.micro:
		return d.decodeMicro(code, pc, out)
	}
	return d.decode16(code, pc, out)
}

func (d *decoder) decodeStandard(code []byte, pc uint64, out []cpu.Insn) int {
	n := 0
	for n < len(out) && len(code) >= 4 {
		i := &out[n]
		begin(i, 4)
		d.standard(d.word(code), pc&d.mask, i)
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

func (d *decoder) word(b []byte) word {
	if d.big {
		return word(binary.BigEndian.Uint32(b))
	}
	return word(binary.LittleEndian.Uint32(b))
}

func (d *decoder) half(b []byte) uint16 {
	if d.big {
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
