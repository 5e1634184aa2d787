package riscv

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// decoder implements cpu.Decoder for one ABI. Instructions of 16 bits are compressedDecoder's,
// all others wordDecoder's. Registers hold what the ISA manual's chapters say; four points are
// choices:
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
type decoder struct{ isa }

// isa is the instruction set of an ABI, with the effects that differ with it (effect.go).
type isa struct {
	rv64 bool
	zcmp bool // quadrant 2, funct3 101 is Zcmp and Zcmt, not c.fsdsp
}

// Decode implements cpu.Decoder.
func (d decoder) Decode(code []byte, pc uint64, _ cpu.Mode, out []cpu.Insn) int {
	at := 0
	for n := range out {
		w, size := fetch(code[at:])
		if size == 0 {
			return n
		}
		in := &out[n]
		*in = blank
		in.Len = uint8(size)
		d.instruction(w, pc+uint64(at), in)
		switch {
		case w&0x7f == opJALR && n > 0:
			d.join(&out[n-1], in)
		case w == insnEbreak && semihosting(code[:at]):
			in.Op, in.List = cpu.OpSyscall, cpu.SetOf(A0)
		}
		at += size
	}
	return len(out)
}

// blank is an instruction without effect.
var blank = cpu.Insn{
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// fetch reads the instruction that code begins with, and its size, 0 when it is not
// whole. The upper half of w is the next halfword where the instruction is a compressed one.
func fetch(code []byte) (w uint32, size int) {
	if len(code) < 4 {
		if len(code) < 2 {
			return 0, 0
		}
		w = uint32(binary.LittleEndian.Uint16(code))
	} else {
		w = binary.LittleEndian.Uint32(code)
	}
	size = 2 + int(w&3+1)>>2<<1
	if w&0x1f == 0x1f {
		size = longer(w)
	}
	if size > len(code) {
		return 0, 0
	}
	return w, size
}

// longer is the size of an instruction of more than 32 bits. For the formats over 64
// bits, which no extension uses, it is 2, the least step (unprivileged manual, "Expanded
// Instruction-Length Encoding").
func longer(w uint32) int {
	switch {
	case w&0x3f == 0x1f:
		return 6
	case w&0x7f == 0x3f:
		return 8
	}
	return 2
}

// instruction decodes w by one switch: over funct3 and quadrant of compressed instructions, bits
// 15..13 and 1..0 ("C" chapter, table of instruction listings), and over the major opcode of all
// others. A second switch would be a second indirect jump, which processors often mispredict here.
func (d decoder) instruction(w uint32, pc uint64, in *cpu.Insn) {
	h := w & 0xffff
	which := h>>13<<2 | h&3
	if h&3 == 3 {
		which = h & 0x7f
	}
	switch which {
	case 0x00:
		addi4spn(h, in)
	case 0x01:
		if h == 1 { // c.nop
			in.Flags = cpu.FlagPadding
		}
		addImm(in, reg(w, 7), reg(w, 7), immCI(w))
	case 0x02:
		if rd := reg(w, 7); rd != Zero {
			d.shift(cpu.OpShlImm, w>>12&1<<25|w>>2&31<<20, rd, rd, in)
		}
	case 0x04, 0x06: // c.fld, c.fldsp
		if d.zcmp {
			// Free where there is no D. WCH's XW extension has a byte load here.
			unknown(in, regC(w, 2))
		}
	case 0x05:
		compressedDecoder(d).jalOrAddiw(w, pc, in)
	case 0x08:
		d.load(in, regC(w, 2), regC(w, 7), offsetW(w), 4, true)
	case 0x09:
		constant(in, reg(w, 7), immCI(w))
	case 0x0a:
		compressedDecoder(d).loadSP(in, reg(w, 7), int64(w>>2&3<<6|w>>12&1<<5|w>>4&7<<2), 4)
	case 0x0c: // c.flw on RV32
		if d.rv64 {
			d.load(in, regC(w, 2), regC(w, 7), offsetD(w), 8, true)
		}
	case 0x0d:
		compressedDecoder(d).upper(w, in)
	case 0x0e: // c.flwsp on RV32
		if d.rv64 {
			compressedDecoder(d).loadSP(in, reg(w, 7), int64(w>>2&7<<6|w>>12&1<<5|w>>5&3<<3), 8)
		}
	case 0x10:
		compressedDecoder(d).zcbMemory(w, in)
	case 0x11:
		compressedDecoder(d).arithmetic(w, in)
	case 0x12:
		moveOrJump(w, in)
	case 0x14: // c.fsd
		store(in, cpu.NoReg, regC(w, 7), offsetD(w), 8)
	case 0x15:
		d.jumpTo(in, Zero, pc, immCJ(w))
	case 0x16:
		compressedDecoder(d).pushPopOrStore(h, in)
	case 0x18:
		store(in, regC(w, 2), regC(w, 7), offsetW(w), 4)
	case 0x19, 0x1d:
		d.branch(in, regC(w, 7), Zero, pc, immCB(w))
	case 0x1a:
		store(in, reg(w, 2), SP, offsetWSP(w), 4)
	case 0x1c:
		if d.rv64 {
			store(in, regC(w, 2), regC(w, 7), offsetD(w), 8)
		} else {
			store(in, cpu.NoReg, regC(w, 7), offsetW(w), 4)
		}
	case 0x1e:
		if d.rv64 {
			store(in, reg(w, 2), SP, offsetDSP(w), 8)
		} else {
			store(in, cpu.NoReg, SP, offsetWSP(w), 4)
		}
	case opLoad:
		wordDecoder(d).loadWord(w, in)
	case opStore:
		wordDecoder(d).storeWord(w, in)
	case opOpImm:
		wordDecoder(d).opImm(w, in)
	case opOp:
		wordDecoder(d).op(w, in)
	case opOpImm32:
		wordDecoder(d).opImm32(w, in)
	case opOp32:
		wordDecoder(d).op32(w, in)
	case opLUI:
		constant(in, reg(w, 7), immU(w))
	case opAUIPC:
		wordDecoder(d).auipc(w, pc, in)
	case opBranch:
		if w>>13&3 == 1 { // funct3 2 and 3
			unknown(in, cpu.NoReg)
			return
		}
		d.branch(in, reg(w, 15), reg(w, 20), pc, immB(w))
	case opJAL:
		d.jumpTo(in, reg(w, 7), pc, immJ(w))
	case opJALR:
		if w>>12&7 != 0 {
			unknown(in, reg(w, 7))
			return
		}
		jumpReg(in, reg(w, 7), reg(w, 15), immI(w))
	case opSystem:
		wordDecoder(d).system(w, in)
	case opAMO:
		wordDecoder(d).atomic(w, in)
	case opStoreFP:
		storeFloating(w, in)
	case opOpFP:
		floating(w, in)
	case opOpV:
		vector(w, in)
	case opLoadFP, opMiscMem, opMADD, opMSUB, opNMSUB, opNMADD, opOpVE:
		// They write floating-point and vector registers, or order memory.
	default:
		unknown(in, reg(w, 7))
		if h == 0xffff { // illegal by definition, and what erased flash reads as
			in.Op, in.List, in.Flags = cpu.OpTrap, 0, cpu.FlagPadding
		}
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
func (d isa) addr(a uint64) uint64 {
	if d.rv64 {
		return a
	}
	return a & 0xffff_ffff
}

// wordSize is the size of a register.
func (d isa) wordSize() int64 {
	if d.rv64 {
		return 8
	}
	return 4
}
