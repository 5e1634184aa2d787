package mips

import "github.com/backsight/backsight/cpu"

// The functions below fill an instruction that begin started. A write to register zero has
// no effect, so that they leave OpNop then.

func clobber(i *cpu.Insn, r cpu.Reg) {
	if r != Zero {
		i.Op = cpu.OpClobber
		i.List = 1 << r
	}
}

func clobberSet(i *cpu.Insn, set cpu.RegSet) {
	if set = set.Without(Zero); set != 0 {
		i.Op = cpu.OpClobber
		i.List = set
	}
}

// word32 flags the result of an operation that works on 32 bits in any case.
func (d *processor) word32() cpu.Flags {
	if d.wide {
		return cpu.FlagWord32
	}
	return 0
}

func (d *processor) constant(i *cpu.Insn, dst cpu.Reg, v int64) {
	if dst == Zero {
		return
	}
	if !d.wide {
		v = int64(uint32(v))
	}
	i.Op, i.Dst, i.Imm = cpu.OpConst, dst, v
}

// address sets dst to an image address computed from the PC.
func (d *processor) address(i *cpu.Insn, dst cpu.Reg, addr uint64) {
	if dst == Zero {
		return
	}
	i.Op, i.Dst, i.Imm, i.Flags = cpu.OpConst, dst, int64(addr&d.mask), cpu.FlagAddress
}

func (d *processor) move(i *cpu.Insn, dst, src cpu.Reg) {
	switch {
	case dst == Zero || dst == src:
	case src == Zero:
		d.constant(i, dst, 0)
	default:
		i.Op, i.Dst, i.Src = cpu.OpMove, dst, src
	}
}

// addImm is addiu (with d.word32()) and daddiu (with 0).
func (d *processor) addImm(i *cpu.Insn, dst, src cpu.Reg, imm int64, flags cpu.Flags) {
	switch {
	case dst == Zero:
	case src == Zero:
		d.constant(i, dst, imm)
	default:
		i.Op, i.Dst, i.Src, i.Imm, i.Flags = cpu.OpAddImm, dst, src, imm, flags
	}
}

func (d *processor) add(i *cpu.Insn, dst, a, b cpu.Reg, flags cpu.Flags) {
	switch {
	case b == Zero:
		d.move(i, dst, a)
	case a == Zero:
		d.move(i, dst, b)
	case dst != Zero:
		i.Op, i.Dst, i.Src, i.Src2, i.Flags = cpu.OpAdd, dst, a, b, flags
	}
}

func (d *processor) sub(i *cpu.Insn, dst, a, b cpu.Reg, flags cpu.Flags) {
	switch {
	case b == Zero:
		d.move(i, dst, a)
	case dst != Zero:
		i.Op, i.Dst, i.Src, i.Src2, i.Flags = cpu.OpSub, dst, a, b, flags
	}
}

func (d *processor) or(i *cpu.Insn, dst, a, b cpu.Reg) {
	switch {
	case b == Zero:
		d.move(i, dst, a)
	case a == Zero:
		d.move(i, dst, b)
	case dst != Zero:
		i.Op, i.Dst, i.Src, i.Src2 = cpu.OpOr, dst, a, b
	}
}

// scaledAdd is lsa and dlsa: dst = b + a<<scale.
func scaledAdd(i *cpu.Insn, dst, a, b cpu.Reg, scale uint8, flags cpu.Flags) {
	if dst != Zero {
		i.Op, i.Dst, i.Src, i.Src2, i.Scale, i.Flags = cpu.OpAdd, dst, b, a, scale, flags
	}
}

func (d *processor) orImm(i *cpu.Insn, dst, src cpu.Reg, imm int64) {
	switch {
	case dst == Zero:
	case src == Zero:
		d.constant(i, dst, imm)
	default:
		i.Op, i.Dst, i.Src, i.Imm = cpu.OpOrImm, dst, src, imm
	}
}

func andImm(i *cpu.Insn, dst, src cpu.Reg, imm int64) {
	if dst != Zero {
		i.Op, i.Dst, i.Src, i.Imm = cpu.OpAndImm, dst, src, imm
	}
}

func shiftLeft(i *cpu.Insn, dst, src cpu.Reg, by uint32, flags cpu.Flags) {
	if dst != Zero {
		i.Op, i.Dst, i.Src, i.Imm, i.Flags = cpu.OpShlImm, dst, src, int64(by), flags
	}
}

// shiftRight is srl: dst = src >> by, with zeros from above.
func shiftRight(i *cpu.Insn, dst, src cpu.Reg, by uint32, flags cpu.Flags) {
	if dst != Zero {
		i.Op, i.Dst, i.Src, i.Imm, i.Flags = cpu.OpShrImm, dst, src, int64(by), flags
	}
}

// compareBelow is sltiu: dst = src < imm, unsigned. The signed slti is no bound
// of a jump table and is a clobber.
func compareBelow(i *cpu.Insn, dst, src cpu.Reg, imm int64) {
	if dst != Zero {
		i.Op, i.Dst, i.Src, i.Imm = cpu.OpCompareImm, dst, src, imm
	}
}

// insertZero is ins and dins: with source zero, clearing bits is a mask, the
// idiom that aligns SP; anything else is a clobber.
func insertZero(i *cpu.Insn, dst, src cpu.Reg, pos, size uint32) {
	if src != Zero || size == 0 || pos+size > 64 {
		clobber(i, dst)
		return
	}
	andImm(i, dst, dst, ^int64((^uint64(0)>>(64-size))<<pos))
}

func load(i *cpu.Insn, dst, base cpu.Reg, imm int64, size uint8, flags cpu.Flags) {
	if dst != Zero {
		i.Op, i.Dst, i.Base, i.Imm, i.Size, i.Flags = cpu.OpLoad, dst, base, imm, size, flags
	}
}

// loadWord is lw: it sign-extends into a 64-bit register.
func (d *processor) loadWord(i *cpu.Insn, dst, base cpu.Reg, imm int64) {
	load(i, dst, base, imm, 4, d.signedWord())
}

// loadLiteral loads from an image address.
func (d *processor) loadLiteral(i *cpu.Insn, dst cpu.Reg, addr uint64, size uint8, flags cpu.Flags) {
	load(i, dst, cpu.NoReg, int64(addr&d.mask), size, flags)
}

func (d *processor) signedWord() cpu.Flags {
	if d.wide {
		return cpu.FlagSigned
	}
	return 0
}

// loadIndexed loads from base+index<<scale.
func loadIndexed(i *cpu.Insn, dst, base, index cpu.Reg, scale, size uint8, flags cpu.Flags) {
	load(i, dst, base, 0, size, flags)
	if dst != Zero {
		i.Index, i.Scale = index, scale
	}
}

// store stores src; NoReg stands for a register that no backtrace needs.
func store(i *cpu.Insn, src, base cpu.Reg, imm int64, size uint8) {
	i.Op, i.Src, i.Base, i.Imm, i.Size = cpu.OpStore, src, base, imm, size
}

// storePart is swl, swr, sdl and sdr: they write some bytes of the aligned word
// that the address lies in. Of the bases only SP is known, and SP is aligned.
func storePart(i *cpu.Insn, base cpu.Reg, imm int64, size uint8) {
	store(i, cpu.NoReg, base, imm&^int64(size-1), size)
}

// branch is conditional on a and b; NoReg where nothing is compared.
func (d *processor) branch(i *cpu.Insn, a, b cpu.Reg, target uint64, flags cpu.Flags) {
	i.Op, i.Src, i.Src2 = cpu.OpJump, a, b
	i.Target, i.Flags = target&d.mask, flags|cpu.FlagConditional
}

func (d *processor) jump(i *cpu.Insn, target uint64, mode cpu.Mode, flags cpu.Flags) {
	i.Op, i.Target, i.TargetMode, i.Flags = cpu.OpJump, target&d.mask, mode, flags
}

func (d *processor) call(i *cpu.Insn, target uint64, mode cpu.Mode, flags cpu.Flags) {
	i.Op, i.Dst, i.Target, i.TargetMode, i.Flags = cpu.OpCall, RA, target&d.mask, mode, flags
}

// jumpRegister is jr in all its forms: a return when the register is ra.
func jumpRegister(i *cpu.Insn, r cpu.Reg, flags cpu.Flags) {
	i.Op, i.Src, i.Flags = cpu.OpJump, r, flags
	if r == RA {
		i.Op = cpu.OpReturn
	}
}

// callRegister is jalr in all its forms: a plain jump when nothing is linked.
func callRegister(i *cpu.Insn, link, r cpu.Reg, flags cpu.Flags) {
	if link == Zero {
		jumpRegister(i, r, flags)
		return
	}
	i.Op, i.Dst, i.Src, i.Flags = cpu.OpCall, link, r, flags
}

// syscall clobbers what Linux does not save: v0, v1, a3, the temporaries, hi and
// lo; registers 8 and 9 are arguments of n32 and n64 calls and survive there
// (arch/mips/include/asm/syscall.h, glibc sysdep.h).
func (d *processor) syscall(i *cpu.Insn, code int64) {
	i.Op, i.Imm = cpu.OpSyscall, code
	i.List = cpu.SetOf(AT, V0, V1, A3, T2, T3, T4, T5, T6, T7, T8, T9, HI, LO)
	if !d.wide {
		i.List |= cpu.SetOf(T0, T1)
	}
}

func unknown(i *cpu.Insn) { i.Op = cpu.OpUnknown }
