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
		at := 4 * i
		decode(binary.LittleEndian.Uint32(code[at:at+4:at+4]), pc+uint64(at), &out[i])
	}
	return n
}

// blank is an instruction without effect.
var blank = cpu.Insn{
	Len: 4,
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// decode dispatches on bits 31..24, of which 28..25 choose the class (DDI 0487, "A64
// instruction set encoding"): one jump for most instructions, for a processor often
// mispredicts where a decoder goes.
func decode(w uint32, pc uint64, in *cpu.Insn) {
	*in = blank
	switch w >> 24 {
	case 0x00, 0x01, 0x20, 0x21, 0x40, 0x41, 0x60, 0x61, 0x80, 0x81, 0xa0, 0xa1, 0xc0, 0xc1, 0xe0, 0xe1:
		reserved(w, in)
	case 0x04, 0x05, 0x24, 0x25, 0x44, 0x45, 0x64, 0x65, 0x84, 0x85, 0xa4, 0xa5, 0xc4, 0xc5, 0xe4, 0xe5:
		scalable(w, in)
	case 0x08, 0x09, 0x48, 0x49, 0x88, 0x89, 0xc8, 0xc9:
		exclusive(w, in)
	case 0x0a, 0x2a, 0x4a, 0x6a, 0x8a, 0xaa, 0xca, 0xea:
		logicalShifted(w, in)
	case 0x0b, 0x2b, 0x4b, 0x6b, 0x8b, 0xab, 0xcb, 0xeb:
		addSubRegister(w, in)
	case 0x0c, 0x0d, 0x4c, 0x4d, 0x8c, 0x8d, 0xcc, 0xcd:
		structures(w, in)
	case 0x0e, 0x0f, 0x1e, 0x1f, 0x2e, 0x2f, 0x3e, 0x3f, 0x4e, 0x4f, 0x5e, 0x5f, 0x6e, 0x6f, 0x7e, 0x7f,
		0x8e, 0x8f, 0x9e, 0x9f, 0xae, 0xaf, 0xbe, 0xbf, 0xce, 0xcf, 0xde, 0xdf, 0xee, 0xef, 0xfe, 0xff:
		vector(w, in)
	case 0x10, 0x30, 0x50, 0x70, 0x90, 0xb0, 0xd0, 0xf0:
		address(w, pc, in)
	case 0x11, 0x31, 0x51, 0x71, 0x91, 0xb1, 0xd1, 0xf1:
		addSubImmediate(w, in)
	case 0x12, 0x32, 0x52, 0x72, 0x92, 0xb2, 0xd2, 0xf2:
		logicalOrWide(w, in)
	case 0x13, 0x33, 0x53, 0x73, 0x93, 0xb3, 0xd3, 0xf3:
		bitfieldOrExtract(w, in)
	case 0x14, 0x15, 0x16, 0x17:
		jumpTo(in, pc, sext(w, 26)<<2)
	case 0x94, 0x95, 0x96, 0x97:
		callTo(in, pc, sext(w, 26)<<2)
	case 0x34, 0x35, 0xb4, 0xb5:
		compareBranch(w, pc, sext(w>>5, 19)<<2, in)
	case 0x36, 0x37, 0xb6, 0xb7:
		compareBranch(w, pc, sext(w>>5, 14)<<2, in)
	case 0x54:
		conditionalBranch(w, pc, in)
	case 0x55:
		returnTo(in, X30) // retaasppc, retabsppc
		in.Flags = cpu.FlagSign
	case 0x74, 0xf4:
		compareBranch(w, pc, sext(w>>5, 9)<<2, in)
		in.Src2 = regZ(w, 16)
	case 0x75, 0xf5:
		compareBranch(w, pc, sext(w>>5, 9)<<2, in)
	case 0xd4:
		exception(w, in)
	case 0xd5:
		system(w, in)
	case 0xd6, 0xd7:
		branchRegister(w, in)
	case 0x18, 0x1c, 0x58, 0x5c, 0x98, 0x9c, 0xd8, 0xdc:
		literal(w, pc, in)
	case 0x19, 0x1d, 0x59, 0x5d, 0x99, 0x9d, 0xd9, 0xdd:
		ordered(w, in)
	case 0x1a, 0x3a, 0x5a, 0x7a, 0x9a, 0xba, 0xda, 0xfa:
		dataOther(w, in)
	case 0x1b, 0x3b, 0x5b, 0x7b, 0x9b, 0xbb, 0xdb, 0xfb:
		clobber(in, regZ(w, 0)) // madd, smulh, …
	case 0x28, 0x29, 0x68, 0x69, 0xa8, 0xa9, 0xe8, 0xe9:
		pair(w, in)
	case 0x2c, 0x2d, 0x6c, 0x6d, 0xac, 0xad, 0xec, 0xed:
		vectorPair(w, in)
	case 0x38, 0x3c, 0x78, 0x7c, 0xb8, 0xbc, 0xf8, 0xfc:
		unscaled(w, in)
	case 0x39, 0x79, 0xb9, 0xf9:
		scaled(w, in)
	case 0x3d, 0x7d, 0xbd, 0xfd:
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
