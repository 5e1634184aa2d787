package x86

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// numbered64 and numbered32 map the register numbers of encodings to ours.
var (
	numbered64 = [32]cpu.Reg{
		RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15,
		R16, R17, R18, R19, R20, R21, R22, R23, R24, R25, R26, R27, R28, R29, R30, R31,
	}
	numbered32 = [32]cpu.Reg{
		EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI,
		EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI,
	}
)

// indexesOf is the same for index registers.
func indexesOf(numbered [32]cpu.Reg) *[32]cpu.Reg {
	numbered[noIndex] = cpu.NoReg
	return &numbered
}

// gpr is the general register with number n.
func (in *inst) gpr(n byte) cpu.Reg { return in.regs[n&31] }

// gprOf is the general register with number n as an operand of size bytes: of
// the byte registers without REX, 4 to 7 are ah, ch, dh, bh.
func (in *inst) gprOf(n, size byte) cpu.Reg {
	if size == 1 && in.highByte(n) {
		n -= 4
	}
	return in.gpr(n)
}

func (in *inst) highByte(n byte) bool {
	return in.rex == 0 && in.enc == legacy && n >= 4 && n < 8
}

// sp is the stack pointer, acc the accumulator.
func (in *inst) sp() cpu.Reg  { return in.gpr(4) }
func (in *inst) acc() cpu.Reg { return in.gpr(0) }

// opcodeReg is the number of the register in the opcode's low bits.
func (in *inst) opcodeReg() byte { return in.op&7 | in.bx }

// isReg tells whether the rm operand is a register.
func (in *inst) isReg() bool { return in.modrm >= 0xc0 }

// group is the opcode extension in ModRM.
func (in *inst) group() byte { return in.modrm >> 3 & 7 }

func (in *inst) regNumber() byte { return in.modrm>>3&7 | in.r }
func (in *inst) rmNumber() byte  { return in.modrm&7 | in.bx }

func (in *inst) reg() cpu.Reg { return in.gpr(in.regNumber()) }
func (in *inst) rm() cpu.Reg  { return in.gpr(in.rmNumber()) }

func (in *inst) regOf(size byte) cpu.Reg { return in.gprOf(in.regNumber(), size) }
func (in *inst) rmOf(size byte) cpu.Reg  { return in.gprOf(in.rmNumber(), size) }

// operands are an instruction's operands other than registers: immediates, displacements of
// branches, the address of a memory operand.
type operands struct{ *inst }

// imm8, imm16, imm32 and imm64 read the immediate.
func (in operands) imm8() int64 { return int64(int8(in.b[in.immAt&(window-1)])) }

func (in operands) imm16() int64 {
	return int64(binary.LittleEndian.Uint16(in.b[in.immAt&(maxLen):]))
}

func (in operands) imm32() int64 { return in.int32At(in.immAt) }

func (in operands) imm64() int64 {
	return int64(binary.LittleEndian.Uint64(in.b[in.immAt&maxLen:]))
}

// immZ is the immediate of 16 or 32 bits, sign-extended.
func (in operands) immZ() int64 {
	if in.size() == 2 {
		return int64(int16(in.imm16()))
	}
	return in.imm32()
}

func (in operands) int32At(at uint8) int64 {
	return int64(int32(binary.LittleEndian.Uint32(in.b[at&maxLen:])))
}

// flat tells whether the memory operand has a flat address of the full width: an
// fs or gs base is not known to code, and the address-size prefix cuts addresses
// off.
func (in operands) flat() bool { return in.seg == 0 && !in.adsize }

// effective sets the Base, Index, Scale and Imm of the ModRM memory operand,
// whatever its segment, for an instruction whose end is at image address next.
// Not for 16-bit addresses. As parse, it does not branch on what differs from one
// instruction to the next: masks are 0 or all ones.
func (in operands) effective(out *cpu.Insn, next uint64) {
	w := binary.LittleEndian.Uint64(in.b[in.modrmAt&maxLen:])
	mod, rm := w>>6&3, w&7
	sib, index := uint64(0), uint64(noIndex)
	if rm == 4 {
		sib = 1
	}
	w >>= 8 * sib // SIB has its base where ModRM has rm
	if x := w>>3&7 | uint64(in.x); sib != 0 {
		index = x
	}
	scale := w >> 6 & 3
	if index == noIndex {
		scale = 0
	}
	out.Index, out.Scale = in.indexes[index&31], uint8(scale)

	base := w & 7
	none := uint64(0)
	if base|(mod+1)&2<<2 == 5 { // mod is 0, or 3 in an undefined instruction
		none = 1
	}
	none = -none
	relative := in.relative & none
	if sib != 0 {
		relative = 0
	}
	long, short := uint64(int32(w>>8)), uint64(int8(w>>8))
	disp := none & (in.mask&long + relative&next)
	if mod == 2 {
		disp = long
	}
	if mod == 1 {
		disp = short
	}
	out.Base, out.Imm = in.gpr(byte(base)|in.bx)|cpu.Reg(none), int64(disp)
}

// scaled tells whether the memory operand has an index of more than a byte.
func (in operands) scaled() bool {
	sib := in.b[(in.modrmAt+1)&maxLen]
	return in.modrm&7 == noIndex && sib>>6 != 0 && sib>>3&7|in.x != noIndex
}

// noIndex is the number that stands for no index register.
const noIndex = 4
