package x86

import "github.com/backsight/backsight/cpu"

// effectDecoder tells the effects of an instruction that was parsed.
type effectDecoder struct{ shapes }

// tell sets the effects of an instruction whose end is at image address next. It has
// a jump of its own for each kind; a switch over opcodes would be a search, whose
// branches are often mispredicted. It reports false where the opcode is undefined.
func (in effectDecoder) tell(e effect, out *cpu.Insn, next uint64) bool {
	switch e {
	case undefined:
		return false
	case nothing, padding, clobberReg, clobberRM:
		in.clobbers(&clobberings[e], out)
	case call, jump, jump8, branch, branch8:
		in.transfers(&transfers[e], out, next)
	case store, storeOther, storeByte, load, loadIf, loadZ8, loadZ16, loadS8, loadS16:
		in.accesses(&accesses[e], out, next)
	case push:
		in.push(out, in.gpr(in.opcodeReg()), in.stackSize())
	case pushOther:
		in.push(out, cpu.NoReg, in.stackSize())
	case pop:
		in.pop(out, in.gpr(in.opcodeReg()), in.stackSize())
	case moveToRM:
		in.move(out, in.rm(), in.reg(), in.size())
	case moveToReg:
		in.move(out, in.reg(), in.rm(), in.size())
	case moveIf:
		twoByteDecoder(in).moveIf(out)
	case ret:
		out.Op = cpu.OpReturn
	case leave:
		out.Op = cpu.OpLeave
	case zeroExtend:
		twoByteDecoder(in).zeroExtend(out)
	case constToReg:
		oneByteDecoder(in).constToReg(out)
	case constToRM:
		in.setConst(out, in.rm(), in.immZ(), in.size())
	case arithmeticRM:
		arithmetic(in).arithmeticRM(out)
	case arithmeticReg:
		arithmetic(in).arithmeticReg(out)
	case arithmeticAcc:
		arithmetic(in).arithmeticAcc(out)
	case group1:
		arithmetic(in).group1(out)
	case group11:
		return oneByteDecoder(in).group11(out, next)
	case step:
		in.addImm(out, in.gpr(in.op&7), in.gpr(in.op&7), 1-int64(in.op>>2&2), in.size())
	case lea:
		in.lea(out, next)
		return !in.isReg()
	case clobberRM8:
		clobber1(out, in.rmOf(1))
	case hint:
		twoByteDecoder(in).hint(out)
	case rare:
		return oneByteDecoder(in).oneByte(out, next)
	case rare2:
		return twoByteDecoder(in).twoByte(out, next)
	default:
		return in.escaped(out, next)
	}
	return true
}
