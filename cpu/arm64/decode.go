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
		*in = cpu.Insn{}
		in.Len = 4
		in.Dst, in.Dst2, in.Src, in.Src2 = cpu.NoReg, cpu.NoReg, cpu.NoReg, cpu.NoReg
		in.Base, in.Index = cpu.NoReg, cpu.NoReg
		decode(binary.LittleEndian.Uint32(code[4*i:]), pc+uint64(4*i), in)
	}
	return n
}

// decode dispatches on bits 28..25 (DDI 0487, "A64 instruction set encoding").
func decode(w uint32, pc uint64, in *cpu.Insn) {
	switch w >> 25 & 15 {
	case 0:
		reserved(w, in)
	case 2:
		scalable(w, in)
	case 4, 6, 12, 14:
		loadStore(w, pc, in)
	case 5, 13:
		dataRegister(w, in)
	case 7, 15:
		vector(w, in)
	case 8, 9:
		dataImmediate(w, pc, in)
	case 10, 11:
		branch(w, pc, in)
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

// regZ is the register field at a bit position where 31 is xzr.
func regZ(w uint32, at uint) cpu.Reg {
	if r := regS(w, at); r != SP {
		return r
	}
	return cpu.NoReg
}

// bit is one bit of the instruction.
func bit(w uint32, at uint) bool { return w>>at&1 == 1 }

// sext sign-extends the low n bits of v.
func sext(v uint32, n uint) int64 { return int64(int32(v<<(32-n)) >> (32 - n)) }

// word32 marks the result of an instruction with sf = 0: 32 bits, zero-extended.
func word32(w uint32, in *cpu.Insn) {
	if !bit(w, 31) {
		in.Flags |= cpu.FlagWord32
	}
}

// clobber says that the registers get unknown values; NoReg is xzr.
func clobber(in *cpu.Insn, rs ...cpu.Reg) {
	in.List = cpu.SetOf(rs...)
	if in.List != 0 {
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
