package riscv

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// decoder knows the instructions of one ABI. Registers hold what the ISA
// manual's chapters say; four points are choices:
//
//   - Constants on RV32 are sign-extended to 64 bits (lui, li: they serve as
//     frame sizes), except addresses computed from the PC, which have 32 bits.
//   - Zfinx cannot be told from F: floating-point results are taken to go to
//     floating-point registers.
//   - A jump or call through a register with an offset (jalr rd, imm(rs1)) has
//     its target at Src + Imm. Where the instruction before it in the same
//     Decode sets rs1 to a constant, it is given as direct.
//   - jalr links in ra or t0 only, as the return-address-stack hints say
//     (unprivileged manual, table "Return-address stack prediction hints"):
//     with another rd it is a jump (PLT stubs end in jalr t1,t3).
type decoder struct {
	rv64 bool
	zcmp bool // quadrant 2, funct3 101 is Zcmp and Zcmt, not c.fsdsp
}

// Decode implements cpu.Decoder.
func (d decoder) Decode(code []byte, pc uint64, _ cpu.Mode, out []cpu.Insn) int {
	at := 0
	for n := range out {
		size := length(code[at:])
		if size == 0 {
			return n
		}
		in := &out[n]
		*in = cpu.Insn{}
		in.Len = uint8(size)
		in.Dst, in.Dst2, in.Src, in.Src2 = cpu.NoReg, cpu.NoReg, cpu.NoReg, cpu.NoReg
		in.Base, in.Index = cpu.NoReg, cpu.NoReg
		d.one(code, at, pc+uint64(at), in)
		if n > 0 && code[at]&0x7f == opJALR {
			d.join(&out[n-1], in)
		}
		at += size
	}
	return len(out)
}

// length is the size of the instruction that code begins with, 0 when it is not
// whole. Of the formats over 64 bits, which nobody has used, it is 2, the least
// step (unprivileged manual, "Expanded Instruction-Length Encoding").
func length(code []byte) int {
	if len(code) < 2 {
		return 0
	}
	size := 2
	switch b := code[0]; {
	case b&3 != 3:
	case b&0x1f != 0x1f:
		size = 4
	case b&0x3f == 0x1f:
		size = 6
	case b&0x7f == 0x3f:
		size = 8
	}
	if size > len(code) {
		return 0
	}
	return size
}

func (d decoder) one(code []byte, at int, pc uint64, in *cpu.Insn) {
	switch h := binary.LittleEndian.Uint16(code[at:]); {
	case h&3 != 3:
		d.compressed(h, pc, in)
	case in.Len == 4:
		w := binary.LittleEndian.Uint32(code[at:])
		d.word(w, pc, in)
		if w == insnEbreak && semihosting(code[:at]) {
			in.Op, in.List = cpu.OpSyscall, cpu.SetOf(A0)
		}
	case h == 0xffff:
		// All ones is illegal by definition, and what erased flash reads as.
		in.Op, in.Flags = cpu.OpTrap, cpu.FlagPadding
	default:
		unknown(in, reg(uint32(h), 7))
	}
}

// semihosting tells whether the ebreak behind before is a call to the debugger,
// which comes back: slli x0,x0,31; ebreak; srai x0,x0,7 (RISC-V Semihosting).
func semihosting(before []byte) bool {
	return len(before) >= 4 && binary.LittleEndian.Uint32(before[len(before)-4:]) == 0x01f01013
}

// join resolves jalr behind the instruction that sets its base to a constant:
// auipc ra; jalr ra (far call), auipc t1; jalr zero,t1 (far tail call), lui; jalr
// (functions in ROM).
func (d decoder) join(prev, in *cpu.Insn) {
	if prev.Op != cpu.OpConst || in.Src == cpu.NoReg || prev.Dst != in.Src {
		return
	}
	switch in.Op {
	case cpu.OpReturn:
		in.Op = cpu.OpJump
	case cpu.OpCall, cpu.OpJump:
	default:
		return
	}
	in.Target = d.addr(uint64(prev.Imm+in.Imm) &^ 1)
	in.Src, in.Imm = cpu.NoReg, 0
}

// addr cuts an address to the width of the PC.
func (d decoder) addr(a uint64) uint64 {
	if d.rv64 {
		return a
	}
	return a & 0xffff_ffff
}

// wordSize is the size of a register.
func (d decoder) wordSize() int64 {
	if d.rv64 {
		return 8
	}
	return 4
}

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

func (d decoder) load(in *cpu.Insn, rd, base cpu.Reg, imm int64, size uint8, signed bool) {
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

// jumpTo is jal. Its target may be the next instruction: glibc's abort follows a
// function that ends in a call of it. Nobody reads the PC that way, there is
// auipc.
func (d decoder) jumpTo(in *cpu.Insn, rd cpu.Reg, pc uint64, offset int64) {
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
func (d decoder) branch(in *cpu.Insn, rs1, rs2 cpu.Reg, pc uint64, offset int64) {
	in.Op, in.Flags = cpu.OpJump, cpu.FlagConditional
	in.Src, in.Src2 = rs1, rs2
	in.Target = d.addr(pc + uint64(offset))
}
