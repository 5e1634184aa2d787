package x86

import "github.com/backsight/backsight/cpu"

// rowC: shifts, returns, enter, interrupts.
func (in oneByteDecoder) rowC(out *cpu.Insn, next uint64) bool {
	switch in.op {
	case 0xc0, 0xc1:
		arithmetic(in).shift(out, next)
	case 0xc2, 0xca, 0xcb, 0xcf:
		in.ret(out)
	case 0xc4, 0xc5: // les, lds
		clobber1(out, in.reg())
	case 0xc8: // enter: both get values, the frame pointer's save slot is lost
		clobber(out, cpu.SetOf(in.sp(), in.gpr(5)))
		out.Flags |= cpu.FlagFrameSetup
	case 0xcc:
		out.Op, out.Flags = cpu.OpTrap, cpu.FlagPadding
	case 0xcd:
		out.Op, out.Imm = cpu.OpSyscall, in.imm8()&0xff
		out.List = cpu.SetOf(in.acc())
	}
	return true
}

// ret is ret, lret and iret. A far return pops the code segment too; by default
// it pops slots of 4 bytes even in 64-bit mode.
func (in oneByteDecoder) ret(out *cpu.Insn) {
	out.Op = cpu.OpReturn
	slot := int64(in.size())
	switch in.op {
	case 0xc2:
		out.Imm = in.imm16()
	case 0xca:
		out.Imm = 2*slot - int64(in.word()) + in.imm16()
	case 0xcb:
		out.Imm = 2*slot - int64(in.word())
	case 0xcf:
		out.Flags = cpu.FlagException
	}
}

// group11 is what C6 and C7 are beside mov of an immediate: xabort, xbegin.
func (in oneByteDecoder) group11(out *cpu.Insn, next uint64) bool {
	if in.modrm == 0xf8 && in.op == 0xc7 {
		in.jump(out, next, in.immZ(), cpu.FlagConditional)
	}
	return in.modrm == 0xf8
}

// rowD: shifts, aam and aad, salc, xlat.
func (in oneByteDecoder) rowD(out *cpu.Insn, next uint64) {
	if in.op < 0xd4 {
		arithmetic(in).shift(out, next)
		return
	}
	clobber1(out, in.acc())
}

// x87 is the escape opcodes D8–DF. Only fnstsw %ax writes a general register.
func (in oneByteDecoder) x87(out *cpu.Insn, next uint64) {
	if in.isReg() {
		if in.op == 0xdf && in.modrm == 0xe0 {
			clobber1(out, in.acc())
		}
		return
	}
	if size := x87Store[in.op-0xd8][in.group()]; size != 0 {
		in.store(out, next, cpu.NoReg, size)
	}
}

// x87Store[opcode-D8][ModRM.reg] counts the bytes that a memory form stores.
var x87Store = [8][8]uint8{
	1: {2: 4, 3: 4, 6: 28, 7: 2},
	3: {1: 4, 2: 4, 3: 4, 7: 10},
	5: {1: 8, 2: 8, 3: 8, 6: 108, 7: 2},
	7: {1: 2, 2: 2, 3: 2, 6: 10, 7: 8},
}

// rowE: loops, ports, far jumps.
func (in oneByteDecoder) rowE(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0xe0, 0xe1, 0xe2: // loop counts the counter down
		in.jump(out, next, in.imm8(), cpu.FlagConditional)
		out.List = cpu.SetOf(in.gpr(1))
	case 0xe3:
		in.jump(out, next, in.imm8(), cpu.FlagConditional)
	case 0xe4, 0xe5, 0xec, 0xed: // in
		clobber1(out, in.acc())
	case 0xea:
		out.Op, out.Target = cpu.OpJump, uint64(in.farOffset())
	}
}

// rowF: traps, group 3, inc and dec, group 5.
func (in oneByteDecoder) rowF(out *cpu.Insn, next uint64) bool {
	switch in.op {
	case 0xf1, 0xf4: // int1, hlt
		out.Op = cpu.OpTrap
	case 0xf6, 0xf7:
		arithmetic(in).group3(out, next)
	case 0xfe:
		if in.group() > 1 {
			return false
		}
		in.writeRM(out, next, 1)
	case 0xff:
		return in.group5(out, next)
	}
	return true
}

// group5 is FF: indirect calls and jumps; inc, dec, push of a register.
func (in oneByteDecoder) group5(out *cpu.Insn, next uint64) bool {
	switch in.group() {
	case 0, 1:
		in.addImm(out, in.rm(), in.rm(), 1-2*int64(in.group()), in.size())
	case 2:
		in.indirect(out, cpu.OpCall, next)
	case 3: // far, through memory
		in.indirect(out, cpu.OpCall, next)
		return !in.isReg()
	case 4:
		in.indirect(out, cpu.OpJump, next)
	case 5:
		in.indirect(out, cpu.OpJump, next)
		return !in.isReg()
	case 6:
		in.push(out, in.rm(), in.stackSize())
	default:
		return false
	}
	return true
}
