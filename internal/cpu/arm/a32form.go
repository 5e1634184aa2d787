package arm

import (
	"math/bits"

	"github.com/backsight/backsight/cpu"
)

// formA32 is encodings of A32 that differ in registers other than the PC and in an
// immediate only. As in a form of Thumb the Insn is what they have in common, and they
// are filled in without a branch.
type formA32 struct {
	cpu.Insn
	src    uint8  // where the field of Src begins
	rm     uint32 // 15 where bits 3:0 are a register
	zero   uint32 // these bits are 0
	some   uint32 // one of these is 1
	mask   uint32 // the immediate's bits,
	rotate uint32 // and those of how far it is rotated
	sign   uint32 // all bits set subtract it
	extend int64  // 1<<31 where it is signed
}

// has tells whether w is of the form. What is of no form has no bits in some.
func (f *formA32) has(w uint32) bool {
	return w&f.some != 0 && w&f.zero == 0 && w&f.rm != 15 && field(w, 12) != PC && field(w, 16) != PC &&
		w>>28 != condNV
}

// fill makes o the instruction w.
func (f *formA32) fill(w uint32, o *cpu.Insn) {
	*o = f.Insn
	o.Len = 4
	o.Flags |= conditional[w>>28]
	o.Dst = f.Dst | field(w, 12)
	o.Src = f.Src | field(w, uint(f.src)&31)
	o.Src2 = f.Src2 | field(w, 0)
	o.Base = f.Base | field(w, 16)
	imm := bits.RotateLeft32(w&f.mask, -int(w>>7&f.rotate))
	o.Imm = (int64(imm^f.sign-f.sign) ^ f.extend) - f.extend
}

// formsA32 are the forms by bits 27:20: data processing with a register and with an
// immediate (v7 A5.2), loads and stores with an immediate offset (v7 A5.3).
var formsA32 = [256]formA32{
	0x04: unshifted(cpu.OpSub), 0x05: unshifted(cpu.OpSub),
	0x08: unshifted(cpu.OpAdd), 0x09: unshifted(cpu.OpAdd),
	0x18: unshifted(cpu.OpOr), 0x19: unshifted(cpu.OpOr),
	0x1a: movReg(), 0x1b: movReg(),

	0x24: sum(all), 0x25: sum(all), 0x28: sum(0), 0x29: sum(0),
	0x35: expanded(cpu.OpCompareImm, cpu.NoReg, 0),
	0x3a: expanded(cpu.OpConst, 0, cpu.NoReg), 0x3b: expanded(cpu.OpConst, 0, cpu.NoReg),

	0x50: offsetStore(4, all), 0x51: offsetLoad(4, all), 0x54: offsetStore(1, all), 0x55: offsetLoad(1, all),
	0x58: offsetStore(4, 0), 0x59: offsetLoad(4, 0), 0x5c: offsetStore(1, 0), 0x5d: offsetLoad(1, 0),
}

// shifter is how the register of bits 3:0 is shifted: with 0 not.
const shifter = 0xff0

// unshifted is an operation of two registers.
func unshifted(op cpu.Op) formA32 {
	return formA32{Insn: three(op), src: 16, rm: 15, zero: shifter, some: all}
}

// movReg is MOV of a register; mov r0,r0 was the nop.
func movReg() formA32 {
	return formA32{Insn: two(cpu.OpMove, 0, 0, 0), rm: 15, zero: shifter, some: 0xffff}
}

// expanded is an operation with an expanded immediate (v7 A5.2.4).
func expanded(op cpu.Op, dst, src cpu.Reg) formA32 {
	return formA32{Insn: two(op, dst, src, 0), src: 16, some: all, mask: 0xff, rotate: 30}
}

// sum is ADD or SUB of an immediate, which is taken as signed: see addImm.
func sum(sign uint32) formA32 {
	return formA32{Insn: two(cpu.OpAddImm, 0, 0, 0), src: 16, some: all, mask: 0xff, rotate: 30, sign: sign, extend: 1 << 31}
}

// offsetLoad is a load of size bytes with an offset up or, with sign, down; offsetStore a store.
func offsetLoad(size uint8, sign uint32) formA32 {
	return formA32{Insn: load(size, 0, cpu.NoReg, 0), src: 12, some: all, mask: 0xfff, sign: sign, extend: 1 << 31}
}

func offsetStore(size uint8, sign uint32) formA32 {
	return formA32{Insn: store(size, 0, cpu.NoReg), src: 12, some: all, mask: 0xfff, sign: sign, extend: 1 << 31}
}
