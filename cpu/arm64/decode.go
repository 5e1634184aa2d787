package arm64

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// decoder decodes A64. Choices that the architecture does not make:
//
//   - paciasp, autiasp and their like leave the address in x30 as it is (only
//     bits above it change): they are OpMove of x30 to itself with FlagSign.
//   - xzr as an operand is NoReg in stores. Where its zero decides the result,
//     the effect is given without it (mov, neg), and a write to it is dropped.
//   - A 32-bit index register of a load or store (uxtw, sxtw) is given as if it
//     had 64 bits: compilers make such indices with 32-bit instructions, which
//     clear the upper half.
//   - Floating-point, vector and tag loads are OpNop, or OpAddImm of their base
//     where they write it back; stores of these are OpStore without Src, with
//     the bytes of both halves of a pair in Size.
type decoder struct{}

// Decode implements cpu.Decoder.
func (decoder) Decode(code []byte, pc uint64, _ cpu.Mode, out []cpu.Insn) int {
	n := min(len(out), len(code)/4)
	for i := range n {
		in := &out[i]
		*in = blank
		decode(binary.LittleEndian.Uint32(code[4*i:]), pc+uint64(4*i), in)
	}
	return n
}

// blank is an instruction without effect.
var blank = cpu.Insn{
	Len: 4,
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// decode dispatches on bits 29..24, of which 28..25 choose the class (DDI 0487, "A64
// instruction set encoding"): one jump for most instructions, for a processor often
// mispredicts where a decoder goes.
func decode(w uint32, pc uint64, in *cpu.Insn) {
	switch w >> 24 & 63 {
	case 0x00, 0x01, 0x20, 0x21:
		reserved(w, in)
	case 0x04, 0x05, 0x24, 0x25:
		scalable(w, in)
	case 0x08, 0x09:
		exclusive(w, in)
	case 0x0a, 0x2a:
		logicalShifted(w, in)
	case 0x0b, 0x2b:
		addSubRegister(w, in)
	case 0x0c, 0x0d:
		structures(w, in)
	case 0x0e, 0x0f, 0x1e, 0x1f, 0x2e, 0x2f, 0x3e, 0x3f:
		vector(w, in)
	case 0x10, 0x30:
		address(w, pc, in)
	case 0x11, 0x31:
		addSubImmediate(w, in)
	case 0x12, 0x32:
		logicalOrWide(w, in)
	case 0x13, 0x33:
		bitfieldOrExtract(w, in)
	case 0x14, 0x15, 0x16, 0x17, 0x34, 0x35, 0x36, 0x37:
		branch(w, pc, in)
	case 0x18, 0x1c:
		literal(w, pc, in)
	case 0x19, 0x1d:
		ordered(w, in)
	case 0x1a, 0x3a:
		dataOther(w, in)
	case 0x1b, 0x3b: // madd, smulh, …
		clobber(in, regZ(w, 0))
	case 0x28, 0x29:
		pair(w, in)
	case 0x2c, 0x2d:
		vectorPair(w, in)
	case 0x38, 0x3c:
		unscaled(w, in)
	case 0x39, 0x3d:
		one(w, int64(w>>10&0xfff)<<sizeLog(w), offset, in)
	default:
		unknown(in, cpu.NoReg)
	}
}

// reserved is udf, whose immediate 0 is a zero word, and SME, of which one
// instruction writes a general register: movt xt, zt0[n].
func reserved(w uint32, in *cpu.Insn) {
	switch {
	case w == 0:
		in.Op, in.Flags = cpu.OpTrap, cpu.FlagPadding
	case w>>16 == 0:
		in.Op = cpu.OpTrap
	case w&0xffff8fe0 == 0xc04c03e0:
		clobber(in, regZ(w, 0))
	case w>>31 == 0:
		unknown(in, cpu.NoReg)
	}
}

// regS is the register field at a bit position where 31 is sp, which has that
// number in the descriptor too.
func regS(w uint32, at uint) cpu.Reg { return cpu.Reg(w >> at & 31) }

// regZ is the register field at a bit position where 31 is xzr: of NoReg all bits are
// set.
func regZ(w uint32, at uint) cpu.Reg {
	r := regS(w, at)
	return r | -((r + 1) >> 5)
}

// bit is one bit of the instruction.
func bit(w uint32, at uint) bool { return w>>at&1 == 1 }

// sext sign-extends the low n bits of v.
func sext(v uint32, n uint) int64 { return int64(int32(v<<(32-n)) >> (32 - n)) }

// word32 marks the result of an instruction with sf = 0: 32 bits, zero-extended.
func word32(w uint32, in *cpu.Insn) {
	in.Flags |= cpu.FlagWord32 &^ -cpu.Flags(w>>31)
}

// clobber says that a register gets an unknown value; NoReg is xzr.
func clobber(in *cpu.Insn, r cpu.Reg) { clobberSet(in, cpu.SetOf(r)) }

func clobberSet(in *cpu.Insn, set cpu.RegSet) {
	if in.List = set; set != 0 {
		in.Op = cpu.OpClobber
	}
}

// unknown is an unallocated encoding, which may write rd.
func unknown(in *cpu.Insn, rd cpu.Reg) {
	in.Op, in.List = cpu.OpUnknown, cpu.SetOf(rd)
}

func constant(in *cpu.Insn, rd cpu.Reg, v int64) {
	if rd == cpu.NoReg {
		return
	}
	in.Op, in.Dst, in.Imm = cpu.OpConst, rd, v
}

// unary is rd = rs op imm.
func unary(in *cpu.Insn, op cpu.Op, rd, rs cpu.Reg, imm int64) {
	if rd == cpu.NoReg {
		return
	}
	in.Op, in.Dst, in.Src, in.Imm = op, rd, rs, imm
}

// sign is an instruction that signs, authenticates or strips x30.
func sign(in *cpu.Insn) {
	unary(in, cpu.OpMove, X30, X30, 0)
	in.Flags |= cpu.FlagSign
}
