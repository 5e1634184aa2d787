package mips

import "github.com/backsight/backsight/cpu"

// loadSP is lw rx,(sp). MIPS16e2 adds loads relative to gp, ll, lwl and lwr, under bits 7–5 of the
// extended instruction.
func (d mips16Decoder) loadSP(x insn16, i *cpu.Insn) {
	rx, imm := x.rx(), x.wide()
	switch x.extension() {
	case 0:
		d.loadWord(i, rx, SP, x.unsigned(8, 2))
	case 1:
		d.loadWord(i, rx, GP, imm)
	case 2:
		load(i, rx, GP, imm, 2, cpu.FlagSigned)
	case 3:
		load(i, rx, GP, imm, 1, cpu.FlagSigned)
	case 4:
		load(i, rx, GP, imm, 2, 0)
	case 5:
		load(i, rx, GP, imm, 1, 0)
	default:
		clobber(i, rx)
	}
}

// storeSP16 is sw rx,(sp). MIPS16e2 adds sw, sh and sb relative to gp, cache and pref, sc, swl and
// swr, under bits 7–5 of the extended instruction.
func storeSP16(x insn16, i *cpu.Insn) {
	rx, imm := x.rx(), x.wide()
	offset := signed(uint32(x.ext&0x1e0|x.h&0x1f), 9)
	switch x.extension() {
	case 0:
		store(i, rx, SP, x.unsigned(8, 2), 4)
	case 1:
		store(i, rx, GP, imm, 4)
	case 2:
		store(i, rx, GP, imm, 2)
	case 3:
		store(i, rx, GP, imm, 1)
	case 6:
		clobber(i, rx)
	case 7:
		storePart(i, reg3(x.ext), offset, 4)
	}
}

// i64 decodes the group I64, the doubleword operations on the stack pointer.
func (d mips16Decoder) i64(x insn16, base uint64, i *cpu.Insn) {
	ry := x.ry()
	switch x.h >> 8 & 7 {
	case 0:
		load(i, ry, SP, x.unsigned(5, 3), 8, 0)
	case 1:
		store(i, ry, SP, x.unsigned(5, 3), 8)
	case 2:
		store(i, RA, SP, x.unsigned(8, 3), 8)
	case 3:
		d.addImm(i, SP, SP, x.signed(8, 3), 0)
	case 4:
		d.loadLiteral(i, ry, base&^7+uint64(x.unsigned(5, 3)), 8, 0)
	case 5:
		d.addImm(i, ry, ry, x.signed(5, 0), 0)
	case 6:
		d.address(i, ry, base&^3+uint64(x.unsigned(5, 2)))
	case 7:
		d.addImm(i, ry, SP, x.unsigned(5, 2), 0)
	}
}

// saveRestore decodes save and restore (MD00076, "SAVE"): below the stack
// pointer before save (behind restore) lie, from the top down, ra, s8, s7 … s2,
// s1, s0 and the argument registers kept as statics, a3 first. That is the
// ascending order of the register numbers. save also stores arguments into the
// caller's home area, above the frame; no backtrace needs those.
func saveRestore(x insn16, i *cpu.Insn) {
	frame := int64(x.h&15) << 3
	if x.extended {
		frame |= int64(x.ext&0xf0) << 3
	} else if frame == 0 {
		frame = 128
	}
	regs := savedRegs(x)
	if x.h&0x80 == 0 { // restore
		i.Op, i.WB, i.Imm = cpu.OpLoadMulti, int32(frame), frame-4*int64(regs.Len())
	} else {
		i.Op, i.WB, i.Imm = cpu.OpStoreMulti, int32(-frame), -4*int64(regs.Len())
	}
	i.Base, i.Size, i.List, i.Flags = SP, 4, regs, cpu.FlagFrameSetup
	if regs == 0 {
		i.Op, i.Dst, i.Src, i.Imm = cpu.OpAddImm, SP, SP, int64(i.WB)
		i.Base, i.Size, i.WB = cpu.NoReg, 0, 0
	}
}

// savedRegs lists the registers of save and restore.
func savedRegs(x insn16) cpu.RegSet {
	var regs cpu.RegSet
	if x.h&0x40 != 0 {
		regs = regs.With(RA)
	}
	if x.h&0x20 != 0 {
		regs = regs.With(S0)
	}
	if x.h&0x10 != 0 {
		regs = regs.With(S1)
	}
	if !x.extended {
		return regs
	}
	// xsregs counts s2–s7 and then s8.
	more := x.ext >> 8 & 7
	for n := range min(more, 6) {
		regs = regs.With(S2 + cpu.Reg(n))
	}
	if more == 7 {
		regs = regs.With(S8)
	}
	for n := range statics(x.ext & 15) {
		regs = regs.With(A3 - cpu.Reg(n))
	}
	return regs
}

// statics is the number of argument registers, from a3 down, that the aregs
// field saves in the frame: its low two bits, but for the codes that it uses for
// all four statics and all four arguments.
func statics(aregs uint16) int {
	switch aregs {
	case 11:
		return 4
	case 14, 15: // four arguments; reserved
		return 0
	}
	return int(aregs & 3)
}
