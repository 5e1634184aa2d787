package arm

import (
	"encoding/binary"
	"math/bits"

	"github.com/backsight/backsight/cpu"
)

// decodeT32 decodes Thumb. A halfword whose upper five bits are 11101, 1111x is
// the first of two (v7 A6.1).
func (d decoder) decodeT32(code []byte, pc uint32, out []cpu.Insn) int {
	n, at := 0, 0
	covered := uint32(0) // instructions left in the IT block
	for ; n < len(out); n++ {
		w := d.halves(code, at)
		size := 2 + int(w>>16+0x1800)>>16<<1
		if at+size > len(code) {
			break
		}
		o := &out[n]
		*o = blank
		o.Len = uint8(size)
		d.thumb(w, pc+uint32(at), o)
		if covered > 0 {
			covered--
			if w>>24 != 0xbe { // bkpt is taken on any condition
				o.Flags |= cpu.FlagConditional
			}
		}
		if w>>24 == 0xbf && w>>16&15 != 0 {
			covered = itLength(w >> 16)
		}
		at += size
	}
	return n
}

// halves reads two halfwords, the first into the upper half; what code does not have
// is 0.
func (d decoder) halves(code []byte, at int) uint32 {
	if at+4 > len(code) {
		if at+2 > len(code) {
			return 0
		}
		return d.half(code[at:]) << 16
	}
	if d.bigCode {
		return binary.BigEndian.Uint32(code[at:])
	}
	return bits.RotateLeft32(binary.LittleEndian.Uint32(code[at:]), 16)
}

// itLength is how many instructions IT makes conditional (v7 A8.8.54): one more
// than the mask's length before its last 1. The condition AL makes none.
func itLength(h uint32) uint32 {
	if h>>4&15 >= condAL {
		return 0
	}
	for n := uint32(4); ; n-- {
		if h&1 != 0 {
			return n
		}
		h >>= 1
	}
}

// low extracts the register number of three bits at position shift.
func low(h uint32, shift uint) cpu.Reg { return cpu.Reg(h >> shift & 7) }

// thumb decodes an instruction, its first halfword in the upper half of w. The jump
// is by the upper five bits of one of 16 bits (v7 A6.2), by bits 12:9 of the first
// half of another (v7 A6.3): one for both, for a processor often mispredicts where a
// decoder goes.
func (d decoder) thumb(w, pc uint32, o *cpu.Insn) {
	h := w >> 16
	which, wide := h>>11, 0x20|h>>9&15
	if which > 0x1c {
		which = wide
	}
	rd, imm8 := low(h, 8), h&0xff
	aligned := (pc + 4) &^ 3
	switch which {
	case 0x00: // lsls, movs
		if h == 0 {
			o.Flags |= cpu.FlagPadding
			return
		}
		aluReg(o, opMOV, low(h, 0), cpu.NoReg, low(h, 3), 0, h>>6&31, 0)
	case 0x01, 0x02: // lsrs, asrs
		clobberOne(o, low(h, 0))
	case 0x03:
		t16AddSub(h, o)
	case 0x04:
		constant(o, rd, imm8)
	case 0x05:
		aluImm(o, opCMP, cpu.NoReg, rd, imm8, 0)
	case 0x06:
		addImm(o, rd, rd, imm8, 0)
	case 0x07:
		addImm(o, rd, rd, -imm8, 0)
	case 0x08:
		if bit(h, 10) {
			t16High(h, pc, o)
		} else {
			t16Register(h, o)
		}
	case 0x09:
		access(o, word|loads, rd, PC, int32(imm8*4), true, false, aligned)
	case 0x0a, 0x0b:
		k := [8]kind{word, half, 0, loads | signs, word | loads, half | loads, loads, half | loads | signs}[h>>9&7]
		accessIndexed(o, k, low(h, 0), low(h, 3), low(h, 6), 0, 0)
	case 0x0c, 0x0d:
		access(o, word|bitKind(h, 11), low(h, 0), low(h, 3), int32(h>>4&0x7c), true, false, 0)
	case 0x0e, 0x0f:
		access(o, bitKind(h, 11), low(h, 0), low(h, 3), int32(h>>6&31), true, false, 0)
	case 0x10, 0x11:
		access(o, half|bitKind(h, 11), low(h, 0), low(h, 3), int32(h>>5&0x3e), true, false, 0)
	case 0x12, 0x13:
		access(o, word|bitKind(h, 11), rd, SP, int32(imm8*4), true, false, 0)
	case 0x14:
		address(o, rd, aligned+imm8*4)
	case 0x15:
		addImm(o, rd, SP, imm8*4, 0)
	case 0x16, 0x17:
		t16Misc(h, pc, o)
	case 0x18, 0x19:
		multiple(o, bit(h, 11), rd, imm8, false, true, true)
	case 0x1a, 0x1b:
		t16Conditional(h, pc, o)
	case 0x1c:
		branch(o, pc+4+signed(h, 11)<<1, 1)
	case 0x24:
		t32Memory(w, pc, o)
	case 0x25:
		d.t32Shifted(w, aligned, o)
	case 0x26, 0x27, 0x2e, 0x2f:
		d.t32Coproc(w, aligned, o)
	case 0x28, 0x2a:
		d.t32Modified(w, pc, o)
	case 0x29, 0x2b:
		d.t32Plain(w, pc, o)
	case 0x2c:
		t32SingleOrSIMD(w, aligned, o)
	case 0x2d:
		t32Arithmetic(w, o)
	}
}

// t16AddSub is add and subtract of a register or three bits.
func t16AddSub(h uint32, o *cpu.Insn) {
	op, rd, rn := uint32(opADD), low(h, 0), low(h, 3)
	if bit(h, 9) {
		op = opSUB
	}
	if bit(h, 10) {
		aluImm(o, op, rd, rn, h>>6&7, 0)
		return
	}
	aluReg(o, op, rd, rn, low(h, 6), 0, 0, 0)
}

// t16Register is data processing of two low registers (v7 A6.2.2).
func t16Register(h uint32, o *cpu.Insn) {
	rd, rm := low(h, 0), low(h, 3)
	switch h >> 6 & 15 {
	case 8, 10, 11: // tst, cmp, cmn
	case 12:
		aluReg(o, opORR, rd, rd, rm, 0, 0, 0)
	default:
		clobberOne(o, rd)
	}
}

// t16High has the operations on all registers and BX (v7 A6.2.3). Bit 2 of BX
// and BLX is the non-secure variant of v8-M.
func t16High(h, pc uint32, o *cpu.Insn) {
	rd, rm := low(h, 0)|cpu.Reg(h>>4&8), field(h, 3)
	switch h >> 8 & 3 {
	case 0: // add
		if rd == PC {
			t16AddPC(rm, pc, o)
			return
		}
		aluReg(o, opADD, rd, rd, rm, 0, 0, pc+4)
	case 1: // cmp
	case 2:
		switch {
		case rd == PC && rm == PC:
			branch(o, pc+4, 1)
		case rd == PC:
			jumpReg(o, rm)
		case rd == rm:
			o.Flags |= cpu.FlagPadding // mov r8,r8 was the nop
		default:
			aluReg(o, opMOV, rd, cpu.NoReg, rm, 0, 0, pc+4)
		}
	default:
		switch {
		case bit(h, 7):
			callReg(o, rm)
		case rm == PC: // bx pc; nop: to A32 code behind it
			branch(o, (pc+4)&^3, 0)
		default:
			jumpReg(o, rm)
		}
	}
}

// t16AddPC is a jump relative to the PC.
func t16AddPC(rm cpu.Reg, pc uint32, o *cpu.Insn) {
	if rm == PC {
		branch(o, 2*(pc+4), 1)
		return
	}
	jumpSum(o, cpu.NoReg, rm, 0, pc+4, 1)
}

// t16Misc is 1011 xxxx (v7 A6.2.5).
func t16Misc(h, pc uint32, o *cpu.Insn) {
	switch h >> 8 & 15 {
	case 0x0:
		imm := h & 0x7f << 2
		if bit(h, 7) {
			imm = -imm
		}
		addImm(o, SP, SP, imm, 0)
	case 0x1, 0x3, 0x9, 0xb: // cbz, cbnz
		branch(o, pc+4+h>>3&0x40+h>>2&0x3e, 1)
		o.Flags |= cpu.FlagConditional
	case 0x2:
		t16Extend(h, o)
	case 0x4, 0x5:
		multiple(o, false, SP, h&0xff|h&0x100<<6, true, false, true)
	case 0xc, 0xd:
		multiple(o, true, SP, h&0xff|h&0x100<<7, false, true, true)
	case 0x6: // setpan, setend, cps
		if h&0xffe8 != 0xb660 && h&0xfff0 != 0xb650 && h&0xfff7 != 0xb610 {
			unknown(o)
		}
	case 0xa:
		if h>>6&3 == 2 {
			t16Trap(o, h&0x3f, semihostHLT)
		} else { // rev
			clobberOne(o, low(h, 0))
		}
	case 0xe:
		t16Trap(o, h&0xff, semihostBKPT)
	case 0xf:
		if h == 0xbf00 {
			o.Flags |= cpu.FlagPadding
		}
	default:
		unknown(o)
	}
}

// The immediates that make BKPT and HLT a call of the debugger's host, which
// comes back ("Semihosting for AArch32 and AArch64").
const (
	semihostBKPT = 0xab
	semihostHLT  = 0x3c
)

func t16Trap(o *cpu.Insn, imm, semihost uint32) {
	o.Op = cpu.OpTrap
	if imm == semihost {
		supervisor(o, imm)
	}
}

// t16Extend is sxth, sxtb, uxth, uxtb.
func t16Extend(h uint32, o *cpu.Insn) {
	switch h >> 6 & 3 {
	case 2:
		extract(o, low(h, 0), low(h, 3), 16)
	case 3:
		extract(o, low(h, 0), low(h, 3), 8)
	default:
		clobberOne(o, low(h, 0))
	}
}

// t16Conditional is 1101: conditional branch, UDF and SVC.
func t16Conditional(h, pc uint32, o *cpu.Insn) {
	switch h >> 8 & 15 {
	case 14:
		o.Op = cpu.OpTrap
	case 15:
		supervisor(o, h&0xff)
	default:
		branch(o, pc+4+signed(h, 8)<<1, 1)
		o.Flags |= cpu.FlagConditional
	}
}
