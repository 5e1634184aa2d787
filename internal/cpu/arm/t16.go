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
	covered := cpu.Flags(0) // a bit for each instruction left in the IT block
	last := uint32(0)       // the instruction in front
	for n < len(out) && at+4 <= len(code) {
		w, here, cond, o := d.halves(code[at:at+4:at+4]), pc+uint32(at), covered&cpu.FlagConditional, &out[n]
		covered >>= 1
		if w>>24 == 0xbf && w>>16&15 != 0 {
			covered = itBlock(w >> 16)
		}
		n++
		at += thumbSize(w)
		d.thumb(w, here, cond, o)
		if last>>28 == 0xf {
			d.sequence(last, w, here, o)
		}
		last = w
	}
	if n < len(out) && at+2 <= len(code) { // the last halfword
		if w := d.half(code[at:]) << 16; thumbSize(w) == 2 {
			d.thumb(w, pc+uint32(at), covered&cpu.FlagConditional, &out[n])
			if last>>28 == 0xf {
				d.sequence(last, w, pc+uint32(at), &out[n])
			}
			n++
		}
	}
	return n
}

const (
	// adrLR is "adr.w lr,1f" (v7 A8.8.12, T3), where adrMask leaves out the distance. As "badr lr,1f" before a
	// jump to a register, with the label behind that, it makes a call: so Linux's ret_from_fork enters a
	// kernel thread's function (arch/arm/include/asm/assembler.h).
	adrLR, adrMask = 0xf20f_0e00, 0xfbff_8f00
	// msrMode is "msr CPSR_c,rN" (v7 B9.3.11), and loadSP "ldr.w sp,[rN,#n]". One behind the other they load
	// the stack pointer of another mode: so Linux returns to user space (restore_user_regs).
	msrMode, msrMask = 0xf380_8100, 0xfff0_ffff
	loadSP, loadMask = 0xf8d0_d000, 0xfff0_f000
)

// sequence completes an instruction at pc that means something else behind the one in front, of four
// bytes.
func (d decoder) sequence(last, w, pc uint32, o *cpu.Insn) {
	switch {
	case last&adrMask == adrLR && linkOf(last, pc-4) == pc+uint32(o.Len):
		linkedJump(o)
	case last&msrMask == msrMode && w&loadMask == loadSP && !d.micro:
		*o = blank
		o.Len = 4
	}
}

// linkOf is where an "adr.w lr" at an address makes a function return to; 0 where that is no code of T32.
func linkOf(w, at uint32) uint32 {
	link := (at+4)&^3 + (w>>26&1<<11 | w>>12&7<<8 | w&0xff)
	if link&1 == 0 {
		return 0
	}
	return link - 1
}

// thumbSize is the size of an instruction whose first halfword is the upper half of w.
func thumbSize(w uint32) int { return 2 + int(w>>16+0x1800)>>16<<1 }

// halves reads two halfwords, the first into the upper half.
func (d decoder) halves(b []byte) uint32 {
	if d.bigCode {
		return binary.BigEndian.Uint32(b)
	}
	return bits.RotateLeft32(binary.LittleEndian.Uint32(b), 16)
}

// itBlock has a bit for each instruction that IT makes conditional (v7 A8.8.54): one
// more than the mask's length before its last 1. The condition AL makes none.
func itBlock(h uint32) cpu.Flags {
	if h>>4&15 >= condAL {
		return 0
	}
	return 15 >> bits.TrailingZeros32(h)
}

// low extracts the register number of three bits at position shift.
func low(h uint32, shift uint) cpu.Reg { return cpu.Reg(h >> shift & 7) }

// thumb decodes an instruction, its first halfword in the upper half of w. cond tells
// those in an IT block.
func (d decoder) thumb(w, pc uint32, cond cpu.Flags, o *cpu.Insn) {
	c, h, aligned := classT[w>>24], w>>16, (pc+4)&^3
	if int(c) < len(forms) {
		forms[c].fill(h, aligned, o)
		o.Flags |= cond
		return
	}
	*o = blank
	o.Len, o.Flags = uint8(thumbSize(w)), cond
	switch c {
	case shift:
		if h == 0 {
			o.Flags |= cpu.FlagPadding
			return
		}
		shiftLeft(o, low(h, 0), low(h, 3), h>>6&31, 0)
	case shiftRight:
		t16ShiftRight(h, o)
	case register:
		t16Register(h, o)
	case addHigh:
		t16AddHigh(h, pc, o)
	case cmpHigh:
	case movHigh:
		t16MoveHigh(h, pc, o)
	case bxHigh:
		t16Exchange(h, pc, o)
	case adjustSP:
		t16AdjustSP(h, o)
	case compareBranch: // cbz, cbnz
		branch(o, pc+4+h>>3&0x40+h>>2&0x3e, 1)
		o.Flags |= cpu.FlagConditional
	case extend:
		t16Extend(h, o)
	case push:
		multiple(o, false, SP, h&0xff|h&0x100<<6, true, false, true)
	case pop:
		multiple(o, true, SP, h&0xff|h&0x100<<7, false, true, true)
	case state: // setpan, setend, cps
		if h&0xffe8 != 0xb660 && h&0xfff0 != 0xb650 && h&0xfff7 != 0xb610 {
			unknown(o)
		}
	case reverse:
		t16Reverse(h, o)
	case bkpt: // on any condition
		o.Flags = 0
		t16Trap(o, h&0xff, semihostBKPT)
	case hint:
		if h == 0xbf00 {
			o.Flags |= cpu.FlagPadding
		}
	case undefined:
		unknown(o)
	case many:
		multiple(o, bit(h, 11), low(h, 8), h&0xff, false, true, true)
	case condBranch:
		branchIf(o, pc+4+signed(h, 8)<<1, 1, h>>8&15)
		o.Flags |= cpu.FlagConditional
	case udf:
		o.Op = cpu.OpTrap
	case svc:
		supervisor(o, h&0xff)
	case plainBranch:
		branch(o, pc+4+signed(h, 11)<<1, 1)
	case wideMemory:
		t32Memory(w, pc, o)
	case wideShifted:
		d.t32Shifted(w, aligned, o)
	case wideCoproc:
		d.t32Coproc(w, aligned, o)
	case wideModified:
		d.t32Modified(w, pc, o)
	case widePlain:
		d.t32Plain(w, pc, o)
	case wideSingle:
		t32SingleOrSIMD(w, aligned, o)
	case wideArithmetic:
		t32Arithmetic(w, o)
	}
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

// highs are the registers of the operations on all registers (v7 A6.2.3).
func highs(h uint32) (rd, rm cpu.Reg) { return low(h, 0) | cpu.Reg(h>>4&8), field(h, 3) }

// t16AddHigh is ADD of all registers.
func t16AddHigh(h, pc uint32, o *cpu.Insn) {
	rd, rm := highs(h)
	if rd == PC {
		t16AddPC(rm, pc, o)
		return
	}
	addReg(o, rd, rd, rm, 0, pc+4)
}

// t16MoveHigh is MOV of all registers.
func t16MoveHigh(h, pc uint32, o *cpu.Insn) {
	rd, rm := highs(h)
	switch {
	case rd == PC && rm == PC:
		branch(o, pc+4, 1)
	case rd == PC:
		jumpReg(o, rm)
	case rd == rm:
		o.Flags |= cpu.FlagPadding // mov r8,r8 was the nop
	default:
		shiftLeft(o, rd, rm, 0, pc+4)
	}
}

// t16Exchange is BX and BLX. Their bit 2 is the non-secure variant of v8-M.
func t16Exchange(h, pc uint32, o *cpu.Insn) {
	rm := field(h, 3)
	switch {
	case bit(h, 7):
		callReg(o, rm)
	case rm == PC: // bx pc; nop: to A32 code behind it
		branch(o, (pc+4)&^3, 0)
	default:
		jumpReg(o, rm)
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

// t16AdjustSP is add sp,sp,#imm and sub sp,sp,#imm.
func t16AdjustSP(h uint32, o *cpu.Insn) {
	imm := h & 0x7f << 2
	if bit(h, 7) {
		imm = -imm
	}
	addImm(o, SP, SP, imm, 0)
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

// t16Reverse is rev, rev16 and revsh; hlt has the place between them.
func t16Reverse(h uint32, o *cpu.Insn) {
	if h>>6&3 == 2 {
		t16Trap(o, h&0x3f, semihostHLT)
		return
	}
	clobberOne(o, low(h, 0))
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
