package riscv

import "github.com/backsight/backsight/cpu"

// reg is the register field at a bit position.
func reg(w uint32, at uint) cpu.Reg { return cpu.Reg(w >> at & 31) }

// clobber says that rd gets an unknown value; writes to x0 are dropped.
func clobber(in *cpu.Insn, rd cpu.Reg) {
	if rd == Zero {
		return
	}
	in.Op, in.List = cpu.OpClobber, cpu.SetOf(rd)
}

// unknown is an instruction outside the manuals, which may write rd.
func unknown(in *cpu.Insn, rd cpu.Reg) {
	in.Op, in.List = cpu.OpUnknown, cpu.SetOf(rd).Without(Zero)
}

func constant(in *cpu.Insn, rd cpu.Reg, v int64) {
	if rd == Zero {
		return
	}
	in.Op, in.Dst, in.Imm = cpu.OpConst, rd, v
}

// unary is rd = rs op imm.
func unary(in *cpu.Insn, op cpu.Op, rd, rs cpu.Reg, imm int64) {
	in.Op, in.Dst, in.Src, in.Imm = op, rd, rs, imm
}

// binary3 is rd = rs1 op rs2<<scale.
func binary3(in *cpu.Insn, op cpu.Op, rd, rs1, rs2 cpu.Reg, scale uint8) {
	in.Op, in.Dst, in.Src, in.Src2, in.Scale = op, rd, rs1, rs2, scale
}

// addImm is rd = rs + imm, with the pseudo instructions li and mv told apart.
func addImm(in *cpu.Insn, rd, rs cpu.Reg, imm int64) {
	switch {
	case rd == Zero:
	case rs == Zero:
		constant(in, rd, imm)
	case imm == 0:
		unary(in, cpu.OpMove, rd, rs, 0)
	default:
		unary(in, cpu.OpAddImm, rd, rs, imm)
	}
}

// address fills the memory operand; x0 as a base is an absolute address.
func address(in *cpu.Insn, base cpu.Reg, imm int64, size uint8) {
	in.Imm, in.Size = imm, size
	if base != Zero {
		in.Base = base
	}
}

func (d isa) load(in *cpu.Insn, rd, base cpu.Reg, imm int64, size uint8, signed bool) {
	if rd == Zero {
		return
	}
	in.Op, in.Dst = cpu.OpLoad, rd
	address(in, base, imm, size)
	if signed && int64(size) < d.wordSize() {
		in.Flags |= cpu.FlagSigned
	}
}

// store stores rs; NoReg stands for a floating-point register.
func store(in *cpu.Insn, rs, base cpu.Reg, imm int64, size uint8) {
	in.Op, in.Src = cpu.OpStore, rs
	address(in, base, imm, size)
}

// pushShadow is sspush: a link register is stored below what ssp points to.
func (d isa) pushShadow(in *cpu.Insn, rs cpu.Reg) {
	word := d.wordSize()
	store(in, rs, SSP, -word, uint8(word))
	in.WB = int32(-word)
}

// popShadow is sspopchk, which traps where the entry is not the link register's value.
func (d isa) popShadow(in *cpu.Insn) { unary(in, cpu.OpAddImm, SSP, SSP, d.wordSize()) }

// jumpTo is jal. Its target may be the next instruction: glibc's abort follows a
// function that ends in a call of it. Nobody reads the PC that way, there is
// auipc.
func (d isa) jumpTo(in *cpu.Insn, rd cpu.Reg, pc uint64, offset int64) {
	in.Op = cpu.OpJump
	in.Target = d.addr(pc + uint64(offset))
	if rd == Zero {
		return
	}
	in.Op, in.Dst = cpu.OpCall, rd
}

// jumpReg is jalr.
func jumpReg(in *cpu.Insn, rd, rs cpu.Reg, offset int64) {
	in.Op, in.Src, in.Imm = cpu.OpJump, rs, offset
	switch {
	case isLink(rd):
		in.Op, in.Dst = cpu.OpCall, rd
	case rd == Zero && isLink(rs) && offset == 0:
		in.Op = cpu.OpReturn
	}
}

// isLink tells the two registers that calls link in: t0 is the alternate one,
// used by calls of millicode (__riscv_save_N) and of outlined code.
func isLink(r cpu.Reg) bool { return r == RA || r == T0 }

// branch compares rs1 with rs2.
func (d isa) branch(in *cpu.Insn, rs1, rs2 cpu.Reg, pc uint64, offset int64) {
	in.Op, in.Flags = cpu.OpJump, cpu.FlagConditional
	in.Src, in.Src2 = rs1, rs2
	in.Target = d.addr(pc + uint64(offset))
}
