package mips

import "github.com/backsight/backsight/cpu"

// insn16 is a MIPS16e instruction: one halfword, and the EXTEND prefix before it
// that widens its immediate (MD00076). jal and jalx keep their first halfword in
// ext.
type insn16 struct {
	h, ext   uint16
	extended bool
}

func (x insn16) op() uint16  { return x.h >> 11 }
func (x insn16) rx() cpu.Reg { return reg3(x.h >> 8) }
func (x insn16) ry() cpu.Reg { return reg3(x.h >> 5) }
func (x insn16) rz() cpu.Reg { return reg3(x.h >> 2) }

// reg3 maps the three-bit register fields of MIPS16e and microMIPS: 0 and 1 are
// s0 and s1, the others themselves.
func reg3(field uint16) cpu.Reg {
	return [8]cpu.Reg{S0, S1, V0, V1, A0, A1, A2, A3}[field&7]
}

// wide is the extended immediate, imm[10:5] imm[15:11] in the prefix; it is not
// scaled.
func (x insn16) wide() int64 {
	return int64(int16(x.ext<<11 | x.ext&0x7e0 | x.h&0x1f))
}

// immediate is v, or the extended immediate where there is one: not by a branch, for
// prefixes come in no order.
func (x insn16) immediate(v int64) int64 {
	wide := x.wide()
	if x.extended {
		v = wide
	}
	return v
}

// extension is bits 7–5 of an extended instruction that takes an offset of 8 bits, which MIPS16e2
// gives a meaning; 0 without a prefix, where these bits belong to the offset.
func (x insn16) extension() uint16 {
	if !x.extended {
		return 0
	}
	return x.h >> 5 & 7
}

// unsigned is an immediate of n bits scaled by 1<<shift, or the extended one.
func (x insn16) unsigned(n, shift uint) int64 {
	return x.immediate(int64(x.h&(1<<n-1)) << shift)
}

// signed is unsigned for an immediate that is signed even without a prefix.
func (x insn16) signed(n, shift uint) int64 {
	return x.immediate(signed(uint32(x.h), n) << shift)
}

// branch is relative to the next instruction, in halfwords in either form.
func (x insn16) branch(pc uint64, n uint) uint64 {
	size := uint64(2)
	if x.extended {
		size = 4
	}
	return pc + size + uint64(x.signed(n, 0)<<1)
}

const (
	opJal16    = 0x03
	opRR16     = 0x1d
	opExtend16 = 0x1e
)

// newInsn16 makes an insn16 of two halfwords. second counts where first is a prefix or jal.
func newInsn16(first, second uint16) insn16 {
	x := insn16{h: first}
	if prefixes>>(first>>11)&1 != 0 {
		x.h, x.ext = second, first
	}
	x.extended = first>>11 == opExtend16
	return x
}

// prefixes has a bit for each opcode whose instructions have a second halfword.
const prefixes = 1<<opJal16 | 1<<opExtend16
