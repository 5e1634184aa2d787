package arm

import "github.com/backsight/backsight/cpu"

// t32Control is branches and miscellaneous control (v7 A6.3.4), told apart by
// bits 14 and 12.
func (d decoder) t32Control(w, pc uint32, o *cpu.Insn) {
	switch w >> 12 & 5 {
	case 5: // bl
		call(o, pc+4+longOffset(w), 1)
	case 4:
		if bit(w, 0) {
			t32Loop(w, pc, o)
			return
		}
		if d.micro {
			unknown(o)
			return
		}
		call(o, (pc+4)&^3+longOffset(w), 0)
	case 1:
		branch(o, pc+4+longOffset(w), 1)
	default:
		if w>>23&7 == 7 {
			d.t32System(w, o)
			return
		}
		off := signed(w>>26&1<<19|w>>11&1<<18|w>>13&1<<17|w>>16&0x3f<<11|w&0x7ff, 20)
		branchIf(o, pc+4+off<<1, 1, w>>22&15)
		o.Flags |= cpu.FlagConditional
	}
}

// longOffset is the offset of BL, BLX and B.W: S, I1 = ¬(J1⊕S), I2, imm10, imm11.
func longOffset(w uint32) uint32 {
	s, j1, j2 := w>>26&1, w>>13&1, w>>11&1
	v := s<<23 | (j1^s^1)<<22 | (j2^s^1)<<21 | w>>16&0x3ff<<11 | w&0x7ff
	return signed(v, 24) << 1
}

// mainStack is MSP among the M profile's special registers: SP
// itself where threads do not run on the process stack.
const mainStack = 8

// t32System has the hints, barriers and status registers.
func (d decoder) t32System(w uint32, o *cpu.Insn) {
	switch op := w >> 20 & 0x7f; {
	case w>>16 == 0xf3af:
		t32Hint(w, o)
	case op == 0x3c: // bxj
		jumpReg(o, field(w, 16))
	case op == 0x3d: // subs pc,lr,#imm; eret
		exceptionReturn(o)
	case op == 0x3e || op == 0x3f: // mrs
		clobberOne(o, field(w, 8))
	case op == 0x7f && w>>12&15 == 10: // udf
		o.Op = cpu.OpTrap
	case op == 0x7e || op == 0x7f: // hvc, smc
		supervisor(o, w&0xfff)
	case op == 0x38 && d.micro && w&0xff == mainStack:
		clobberOne(o, SP)
	case op < 0x38 || op > 0x3b:
		unknown(o)
	}
	// Other msr, and barriers, write no register.
}

// t32Hint is NOP and its relatives. With imod or M set it is CPS. Pointer
// authentication of v8.1-M leaves LR as it is: the code goes to r12.
func t32Hint(w uint32, o *cpu.Insn) {
	switch w & 0x7ff {
	case 0x00:
		o.Flags |= cpu.FlagPadding
	case 0x0f: // bti
		o.Flags |= cpu.FlagEntry
	case 0x0d: // pacbti r12,lr,sp
		clobberOne(o, R12)
		o.Flags |= cpu.FlagEntry
	case 0x1d: // pac r12,lr,sp
		clobberOne(o, R12)
	default:
		if bit(w, 8) { // cps #mode: other banked registers
			clobber(o, cpu.SetOf(SP, LR))
		}
	}
}

// t32Loop is the low overhead branches of v8.1-M, in the room that
// BLX leaves: LR counts the loop down. WLS jumps over the loop where the count
// is zero; the loop's end leads there too, so the assignment is what is told.
func t32Loop(w, pc uint32, o *cpu.Insn) {
	rn := field(w, 16)
	start := w>>23&15 == 0
	switch {
	case !start: // bf, bfl: hints
	case rn != PC && !bit(w, 13) && w>>20&15 < 8, rn != PC && w&0xffff == 0xe001:
		move(o, LR, rn) // wls, wlstp, dls, dlstp
	case rn == PC && w>>12&15 == 12: // le, letp
		branch(o, pc+4-(w&0x7fe|w>>11&1)<<1, 1)
		o.Flags |= cpu.FlagConditional
	}
}

// t32Coproc is the coprocessor and floating point space, and the M profile's
// vector extension.
func (d decoder) t32Coproc(w, here uint32, o *cpu.Insn) {
	always := bit(w, 28)
	switch {
	case w>>24&3 == 3: // Advanced SIMD data processing
		if d.micro {
			vector(w, o)
		}
	case w>>24&3 == 2:
		if d.micro && w>>9&7 == 7 {
			vector(w, o)
			return
		}
		coproc(w, o, always)
	case d.micro && w>>9&7 == 7:
		vectorTransfer(w, o)
	default:
		coprocTransfer(w, o, here, always)
	}
}
