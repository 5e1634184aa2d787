package x86

import "github.com/backsight/backsight/cpu"

// apxDecoder tells the effects of what APX adds and promotes.
type apxDecoder struct{ shapes }

// EVEX map 4 holds APX's forms of the legacy integer instructions: with 32
// registers, without flags (NF), and with a new data destination (ND) in vvvv
// (APX specification, section 3.1.2.3). Their opcodes are the legacy ones; those
// of the 0F maps were moved to free places.

// newDest is the ND bit.
func (in operands) newDest() bool { return in.evex2&0x10 != 0 }

// dest is vvvv with ND, else the operand that the legacy form writes.
func (in operands) dest(legacy cpu.Reg) cpu.Reg {
	if in.newDest() {
		return in.gpr(in.v)
	}
	return legacy
}

// result is an unknown result in the destination of an instruction whose legacy
// form writes the rm operand.
func (in apxDecoder) result(out *cpu.Insn, next uint64, size uint8) {
	if in.newDest() {
		clobber1(out, in.gpr(in.v))
		return
	}
	in.writeRM(out, next, size)
}

// promoted tells the effects of EVEX map 4.
func (in apxDecoder) promoted(out *cpu.Insn, next uint64) bool {
	size := in.size()
	if in.op&1 == 0 {
		size = 1
	}
	switch op := in.op; {
	case op == 0x24, op == 0x2c, op == 0xa5, op == 0xad: // shld, shrd
		in.result(out, next, in.size())
	case op < 0x40 && op&7 < 4:
		in.promotedArithmetic(out, next, size)
	case op >= 0x40 && op < 0x50:
		in.promotedConditional(out, next)
	case op >= 0x80 && op < 0x84:
		in.promotedGroup1(out, next, size)
	case op == 0x8f:
		return in.pop2(out)
	case op == 0xc0, op == 0xc1, op >= 0xd0 && op < 0xd4: // shifts
		if op < 0xd2 && arithmetic(in).shiftsLogically() && wide(size) && in.isReg() {
			arithmetic(in).shiftBy(out, in.dest(in.rm()), in.rm(), size)
		} else {
			in.result(out, next, size)
		}
	case op == 0xf6, op == 0xf7:
		in.promotedGroup3(out, next, size)
	case op == 0xfe, op == 0xff:
		return in.promotedGroup5(out, next, size)
	default:
		in.promotedOther(out, next)
	}
	return true
}

// promotedArithmetic is 00–3B. Operation 7, cmp, became ccmp.
func (in apxDecoder) promotedArithmetic(out *cpu.Insn, next uint64, size uint8) {
	kind := int(in.op >> 3 & 7)
	switch toReg := in.op&2 != 0; {
	case kind == aluCMP:
	case in.isReg() && toReg:
		arithmetic(in).aluReg(out, kind, in.dest(in.regOf(size)), in.regOf(size), in.rmOf(size), size)
	case in.isReg():
		arithmetic(in).aluReg(out, kind, in.dest(in.rmOf(size)), in.rmOf(size), in.regOf(size), size)
	case toReg:
		clobber1(out, in.dest(in.regOf(size)))
	default:
		in.result(out, next, size)
	}
}

func (in apxDecoder) promotedGroup1(out *cpu.Insn, next uint64, size uint8) {
	kind := int(in.group())
	imm := in.imm8()
	if in.op == 0x81 {
		imm = in.immZ()
	}
	switch {
	case kind == aluCMP:
	case in.isReg():
		arithmetic(in).aluImm(out, kind, in.dest(in.rm()), in.rm(), imm, size)
	default:
		in.result(out, next, size)
	}
}

// promotedConditional is 40–4F: setcc, cmov with ND, cfcmov without.
func (in apxDecoder) promotedConditional(out *cpu.Insn, next uint64) {
	const noFlags = 4
	switch {
	case in.rep == 0xf2: // setcc
		in.writeRM(out, next, 1)
	case in.newDest():
		clobber1(out, in.gpr(in.v))
	case in.evex2&noFlags != 0:
		in.writeRM(out, next, in.size())
	default:
		in.writeReg(out)
	}
}

func (in apxDecoder) promotedGroup3(out *cpu.Insn, next uint64, size uint8) {
	switch in.group() {
	case 0, 1: // ctest
	case 2, 3:
		in.result(out, next, size)
	default:
		arithmetic(in).product(out, size)
	}
}

func (in apxDecoder) promotedGroup5(out *cpu.Insn, next uint64, size uint8) bool {
	switch g := in.group(); {
	case g == 6 && in.op == 0xff:
		return in.push2(out)
	case g > 1:
		return false
	case in.isReg():
		in.addImm(out, in.dest(in.rm()), in.rm(), 1-2*int64(g), size)
	default:
		in.result(out, next, size)
	}
	return true
}

// push2 pushes vvvv, then rm, which ends at the lower address.
func (in apxDecoder) push2(out *cpu.Insn) bool {
	if !in.isReg() || !in.newDest() {
		return false
	}
	out.Op, out.Base, out.Size = cpu.OpStore, in.sp(), 8
	out.Src, out.Src2 = in.rm(), in.gpr(in.v)
	out.Imm, out.WB = -16, -16
	return true
}

// pop2 pops vvvv, then rm.
func (in apxDecoder) pop2(out *cpu.Insn) bool {
	if !in.isReg() || !in.newDest() || in.group() != 0 {
		return false
	}
	out.Op, out.Base, out.Size = cpu.OpLoad, in.sp(), 8
	out.Dst, out.Dst2 = in.gpr(in.v), in.rm()
	out.WB = 16
	return true
}

// promotedOther are the ones of which only the written register is told.
func (in apxDecoder) promotedOther(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0x60, 0x69, 0x6b, 0x88, 0xf4, 0xf5: // movbe, imul, popcnt, tzcnt, lzcnt
		in.writeReg(out)
	case 0xaf: // imul
		clobber1(out, in.dest(in.reg()))
	case 0x61: // movbe
		in.writeRM(out, next, in.size())
	case 0x65: // wruss
		in.store(out, next, cpu.NoReg, in.size())
	case 0x66: // adcx, adox; else wrss
		if in.opsize() || in.rep != 0 {
			clobber1(out, in.dest(in.reg()))
		} else if !in.isReg() {
			in.store(out, next, cpu.NoReg, in.size())
		}
	case 0xda, 0xdb, 0xf0, 0xf1: // encodekey, crc32; invept
		in.writeReg(out)
	case 0xf8: // urdmsr; else movdir64b, enqcmd
		if in.isReg() && in.rep == 0xf2 {
			clobber1(out, in.rm())
		}
	case 0xf9, 0xfc: // movdiri; aadd, aand, aor, axor
		if !in.isReg() {
			in.store(out, next, cpu.NoReg, in.size())
		}
	}
}
