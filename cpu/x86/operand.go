package x86

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// numbered64 maps the register numbers of encodings to ours.
var numbered64 = [32]cpu.Reg{
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15,
	R16, R17, R18, R19, R20, R21, R22, R23, R24, R25, R26, R27, R28, R29, R30, R31,
}

// gpr is the general register with number n.
func (in *inst) gpr(n byte) cpu.Reg {
	if in.long {
		return numbered64[n&31]
	}
	return cpu.Reg(n & 7)
}

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

// imm8, imm16, imm32 and imm64 read the immediate.
func (in *inst) imm8() int64 { return int64(int8(in.b[in.immAt&(window-1)])) }

func (in *inst) imm16() int64 {
	return int64(binary.LittleEndian.Uint16(in.b[in.immAt&(maxLen):]))
}

func (in *inst) imm32() int64 { return in.int32At(in.immAt) }

func (in *inst) imm64() int64 {
	return int64(binary.LittleEndian.Uint64(in.b[in.immAt&maxLen:]))
}

// immZ is the immediate of 16 or 32 bits, sign-extended.
func (in *inst) immZ() int64 {
	if in.sizeClass() == 0 {
		return int64(int16(in.imm16()))
	}
	return in.imm32()
}

func (in *inst) int32At(at uint8) int64 {
	return int64(int32(binary.LittleEndian.Uint32(in.b[at&maxLen:])))
}

// memory sets the Base, Index, Scale and Imm of the ModRM memory operand for an
// instruction whose end is at image address next. It reports whether that is a
// flat address of the full width: an fs or gs base is not known to code, and
// the address-size prefix cuts addresses off.
func (in *inst) memory(out *cpu.Insn, next uint64) bool {
	if in.seg != 0 || in.adsize {
		return false
	}
	in.effective(out, next, 1)
	return true
}

// effective sets the operand's fields whatever its segment. EVEX multiplies a
// displacement of one byte by step. Not for 16-bit addresses.
func (in *inst) effective(out *cpu.Insn, next uint64, step int64) {
	mod, rm := in.modrm>>6, in.modrm&7
	at := in.modrmAt + 1
	base := rm
	if rm == 4 {
		sib := in.b[at&(window-1)]
		at++
		base = sib & 7
		if i := sib>>3&7 | in.x; i != 4 {
			out.Index = in.gpr(i)
			out.Scale = sib >> 6
		}
	}
	switch {
	case mod == 1:
		out.Imm = int64(int8(in.b[at&(window-1)])) * step
	case mod == 2:
		out.Imm = in.int32At(at)
	case base == 5:
		out.Imm = in.int32At(at)
		if !in.long {
			out.Imm = int64(uint32(out.Imm))
		} else if rm == 5 {
			out.Imm += int64(next)
		}
		return
	}
	out.Base = in.gpr(base | in.bx)
}
