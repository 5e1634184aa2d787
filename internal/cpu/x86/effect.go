package x86

import "github.com/backsight/backsight/cpu"

// shapes fills in the effects that many instructions share. What is special about an opcode
// map, or about arithmetic, is told by a type of its own over these.
type shapes struct{ operands }

func clobber(out *cpu.Insn, set cpu.RegSet) {
	out.Op = cpu.OpClobber
	out.List = set
}

// clobber1 is clobber of one general register.
func clobber1(out *cpu.Insn, r cpu.Reg) { clobber(out, 1<<(r&63)) }

// narrow is FlagWord32 where a result of size bytes is zero-extended: of 4 in
// 64-bit mode. (A branch on the size would often be mispredicted.)
func (in *inst) narrow(size uint8) cpu.Flags {
	if !in.long {
		return 0
	}
	return cpu.FlagWord32 / 4 * cpu.Flags(size&4)
}

// wide tells whether an operand of size bytes fills its register, or is
// zero-extended to fill it; smaller ones leave the rest alone.
func wide(size uint8) bool { return size >= 4 }

// setConst sets dst to v cut to size bytes.
func (in shapes) setConst(out *cpu.Insn, dst cpu.Reg, v int64, size uint8) {
	if !wide(size) {
		clobber1(out, dst)
		return
	}
	if size == 4 {
		v = int64(uint32(v))
	}
	out.Op, out.Dst, out.Imm = cpu.OpConst, dst, v
}

// move copies a register. Moves of a whole register onto itself are padding:
// i386 fills with mov %esi,%esi.
func (in shapes) move(out *cpu.Insn, dst, src cpu.Reg, size uint8) {
	switch {
	case !wide(size):
		clobber1(out, dst)
	case dst == src && size == in.word():
		out.Flags |= cpu.FlagPadding
	default:
		out.Op, out.Dst, out.Src = cpu.OpMove, dst, src
		out.Flags |= in.narrow(size)
	}
}

// addImm is dst = src + imm.
func (in shapes) addImm(out *cpu.Insn, dst, src cpu.Reg, imm int64, size uint8) {
	if !wide(size) {
		clobber1(out, dst)
		return
	}
	out.Op, out.Dst, out.Src, out.Imm = cpu.OpAddImm, dst, src, imm
	out.Flags |= in.narrow(size)
}

// store writes src to the memory operand. Where the address is not known to
// code, in the thread's data or cut off, it is not the stack.
func (in shapes) store(out *cpu.Insn, next uint64, src cpu.Reg, size uint8) {
	if !in.flat() {
		return
	}
	out.Op, out.Size = cpu.OpStore, size
	if wide(size) {
		out.Src = src
	}
	in.effective(out, next)
}

// writeRM is an unknown result in the rm operand.
func (in shapes) writeRM(out *cpu.Insn, next uint64, size uint8) {
	if in.isReg() {
		clobber1(out, in.rmOf(size))
		return
	}
	in.store(out, next, cpu.NoReg, size)
}

// push stores src, NoReg for what is no register, at a new top of the stack.
// push %rsp stores the old value, as Src says.
func (in shapes) push(out *cpu.Insn, src cpu.Reg, size uint8) {
	out.Op, out.Src, out.Base, out.Size = cpu.OpStore, src, in.sp(), size
	out.Imm, out.WB = -int64(size), -int32(size)
}

// pop loads dst from the top of the stack. pop %rsp keeps what it loaded.
func (in shapes) pop(out *cpu.Insn, dst cpu.Reg, size uint8) {
	out.Op, out.Dst, out.Base, out.Size = cpu.OpLoad, dst, in.sp(), size
	out.WB = int32(size)
	if dst == in.sp() {
		out.WB = 0
	}
}

// drop pops into something of no interest: memory, a segment, the flags.
func (in shapes) drop(out *cpu.Insn, size uint8) {
	out.Op, out.Dst, out.Src, out.Imm = cpu.OpAddImm, in.sp(), in.sp(), int64(size)
}

// stackSize is the operand size of pushes and pops.
func (in shapes) stackSize() uint8 {
	if in.opsize() && !in.w() {
		return 2
	}
	return in.word()
}

// target is where a relative branch goes.
func (in operands) target(next uint64, rel int64) uint64 {
	t := (next + uint64(rel)) & in.mask
	if in.opsize() && !in.long {
		t &= 0xffff
	}
	return t
}

// relZ is the branch displacement that is not a byte.
func (in operands) relZ() int64 {
	if in.long {
		return in.int32At(in.immAt)
	}
	return in.immZ()
}

// jump is a direct jump, a branch with FlagConditional.
func (in shapes) jump(out *cpu.Insn, next uint64, rel int64, f cpu.Flags) {
	out.Op, out.Flags, out.Target = cpu.OpJump, f, in.target(next, rel)
}

// indirect is a call or jump to the rm operand. The address of a target behind
// fs or gs (call *%gs:0x10 into the vDSO) is told as 0.
func (in shapes) indirect(out *cpu.Insn, op cpu.Op, next uint64) {
	out.Op = op
	if in.isReg() {
		out.Src = in.rm()
		return
	}
	out.Flags |= cpu.FlagMemory
	out.Size = in.stackSize()
	if in.flat() {
		in.effective(out, next)
	}
}

// lea is the address of the memory operand, without its segment.
func (in shapes) lea(out *cpu.Insn, next uint64) {
	dst, size := in.reg(), in.size()
	if in.adsize && in.long && size == 8 {
		size = 4 // cut off before it is widened
	}
	if in.isReg() || !wide(size) || in.addrSize() == 2 {
		clobber1(out, dst)
		return
	}
	in.effective(out, next)
	base, index, disp := out.Base, out.Index, out.Imm
	scale := out.Scale
	out.Base, out.Index, out.Imm, out.Scale = cpu.NoReg, cpu.NoReg, 0, 0
	switch {
	case index == cpu.NoReg && base == cpu.NoReg:
		in.setConst(out, dst, disp, size)
		if in.long && in.modrm&0xc7 == 5 {
			out.Flags |= cpu.FlagAddress
		}
	case index == cpu.NoReg && disp == 0:
		in.move(out, dst, base, size)
	case index == cpu.NoReg:
		in.addImm(out, dst, base, disp, size)
	case base != cpu.NoReg && disp == 0:
		out.Op, out.Dst, out.Src, out.Src2, out.Scale = cpu.OpAdd, dst, base, index, scale
		out.Flags |= in.narrow(size)
	case base == cpu.NoReg && disp == 0:
		out.Op, out.Dst, out.Src, out.Imm = cpu.OpShlImm, dst, index, int64(scale)
		out.Flags |= in.narrow(size)
	case base == cpu.NoReg && scale == 0:
		in.addImm(out, dst, index, disp, size)
	default:
		clobber1(out, dst)
	}
}
