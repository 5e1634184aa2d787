package arm

import "github.com/backsight/backsight/cpu"

// class is a group of Thumb encodings that bits 15:8 of the first halfword tell.
type class uint8

const (
	addReg3 class = iota // add, sub of three low registers
	subReg3
	addImm3
	subImm3
	movImm8
	cmpImm8
	addImm8
	subImm8
	strReg // and the other accesses with an index register
	strhReg
	strbReg
	ldrsbReg
	ldrReg
	ldrhReg
	ldrbReg
	ldrshReg
	strImm // accesses with an offset of five bits
	ldrImm
	strbImm
	ldrbImm
	strhImm
	ldrhImm
	strSP
	ldrSP
	ldrPC
	addSP // add rd,sp,#imm
	addPC // adr

	// These are of no form.
	shift // lsls, movs
	shiftRight
	register
	addHigh
	cmpHigh
	movHigh
	bxHigh
	adjustSP
	compareBranch
	extend
	push
	pop
	state
	reverse
	bkpt
	hint
	undefined
	many
	condBranch
	udf
	svc
	plainBranch
	wideMemory
	wideShifted
	wideCoproc
	wideModified
	widePlain
	wideSingle
	wideArithmetic
)

// classT is the class by bits 15:8 (v7 A6.2, A6.3).
var classT = [256]class{
	shift, shift, shift, shift, shift, shift, shift, shift,
	shiftRight, shiftRight, shiftRight, shiftRight, shiftRight, shiftRight, shiftRight, shiftRight,
	shiftRight, shiftRight, shiftRight, shiftRight, shiftRight, shiftRight, shiftRight, shiftRight,
	addReg3, addReg3, subReg3, subReg3, addImm3, addImm3, subImm3, subImm3,
	movImm8, movImm8, movImm8, movImm8, movImm8, movImm8, movImm8, movImm8,
	cmpImm8, cmpImm8, cmpImm8, cmpImm8, cmpImm8, cmpImm8, cmpImm8, cmpImm8,
	addImm8, addImm8, addImm8, addImm8, addImm8, addImm8, addImm8, addImm8,
	subImm8, subImm8, subImm8, subImm8, subImm8, subImm8, subImm8, subImm8,
	register, register, register, register, addHigh, cmpHigh, movHigh, bxHigh,
	ldrPC, ldrPC, ldrPC, ldrPC, ldrPC, ldrPC, ldrPC, ldrPC,
	strReg, strReg, strhReg, strhReg, strbReg, strbReg, ldrsbReg, ldrsbReg,
	ldrReg, ldrReg, ldrhReg, ldrhReg, ldrbReg, ldrbReg, ldrshReg, ldrshReg,
	strImm, strImm, strImm, strImm, strImm, strImm, strImm, strImm,
	ldrImm, ldrImm, ldrImm, ldrImm, ldrImm, ldrImm, ldrImm, ldrImm,
	strbImm, strbImm, strbImm, strbImm, strbImm, strbImm, strbImm, strbImm,
	ldrbImm, ldrbImm, ldrbImm, ldrbImm, ldrbImm, ldrbImm, ldrbImm, ldrbImm,
	strhImm, strhImm, strhImm, strhImm, strhImm, strhImm, strhImm, strhImm,
	ldrhImm, ldrhImm, ldrhImm, ldrhImm, ldrhImm, ldrhImm, ldrhImm, ldrhImm,
	strSP, strSP, strSP, strSP, strSP, strSP, strSP, strSP,
	ldrSP, ldrSP, ldrSP, ldrSP, ldrSP, ldrSP, ldrSP, ldrSP,
	addPC, addPC, addPC, addPC, addPC, addPC, addPC, addPC,
	addSP, addSP, addSP, addSP, addSP, addSP, addSP, addSP,
	adjustSP, compareBranch, extend, compareBranch, push, push, state, undefined,
	undefined, compareBranch, reverse, compareBranch, pop, pop, bkpt, hint,
	many, many, many, many, many, many, many, many,
	many, many, many, many, many, many, many, many,
	condBranch, condBranch, condBranch, condBranch, condBranch, condBranch, condBranch, condBranch,
	condBranch, condBranch, condBranch, condBranch, condBranch, condBranch, udf, svc,
	plainBranch, plainBranch, plainBranch, plainBranch, plainBranch, plainBranch, plainBranch, plainBranch,
	wideMemory, wideMemory, wideShifted, wideShifted, wideCoproc, wideCoproc, wideCoproc, wideCoproc,
	wideModified, wideModified, widePlain, widePlain, wideModified, wideModified, widePlain, widePlain,
	wideSingle, wideSingle, wideArithmetic, wideArithmetic, wideCoproc, wideCoproc, wideCoproc, wideCoproc,
}

// form is the encodings of 16 bits that differ in low registers and an immediate
// only. The Insn is what they have in common, with 0 for each register that an
// encoding names. They are filled in without a branch, for half of all instructions
// are of these forms and come in no order that a processor could predict.
type form struct {
	cpu.Insn
	dst, src, base, imm uint8  // where the fields begin: 3 bits of a register,
	scale               uint8  // the immediate with its unit's logarithm
	mask                uint32 // and these bits
	fromPC              uint32 // with all bits set, the immediate is added to the PC
	sign                int64  // -1 subtracts it
}

const (
	none = 16         // where no field is: a halfword has 16 bits
	all  = ^uint32(0) // bits
)

// fill makes o the instruction h. here is what the PC reads as, aligned.
func (f *form) fill(h, here uint32, o *cpu.Insn) {
	*o = f.Insn
	o.Dst = f.Dst | low(h, uint(f.dst)&31)
	o.Src = f.Src | low(h, uint(f.src)&31)
	o.Base = f.Base | low(h, uint(f.base)&31)
	o.Src2 = f.Src2 | low(h, 6)
	o.Index = f.Index | low(h, 6)
	imm := int64(here&f.fromPC + h>>(f.imm&31)&f.mask<<(f.scale&31))
	o.Imm = (imm ^ f.sign) - f.sign
}

// forms are those of the classes that have one (v7 A6.2.1, A6.2.4).
var forms = [...]form{
	addReg3: {Insn: three(cpu.OpAdd), src: 3},
	subReg3: {Insn: three(cpu.OpSub), src: 3},
	addImm3: {Insn: two(cpu.OpAddImm, 0, 0, 0), src: 3, imm: 6, mask: 7},
	subImm3: {Insn: two(cpu.OpAddImm, 0, 0, 0), src: 3, imm: 6, mask: 7, sign: -1},
	movImm8: {Insn: two(cpu.OpConst, 0, cpu.NoReg, 0), dst: 8, mask: 0xff},
	cmpImm8: {Insn: two(cpu.OpCompareImm, cpu.NoReg, 0, 0), src: 8, mask: 0xff},
	addImm8: {Insn: two(cpu.OpAddImm, 0, 0, 0), dst: 8, src: 8, mask: 0xff},
	subImm8: {Insn: two(cpu.OpAddImm, 0, 0, 0), dst: 8, src: 8, mask: 0xff, sign: -1},
	addPC:   {Insn: two(cpu.OpConst, 0, cpu.NoReg, cpu.FlagAddress), dst: 8, mask: 0xff, scale: 2, fromPC: all},
	addSP:   {Insn: two(cpu.OpAddImm, 0, SP, 0), dst: 8, src: none, mask: 0xff, scale: 2},

	strReg:   {Insn: store(4, 0, 0), base: 3},
	strhReg:  {Insn: store(2, 0, 0), base: 3},
	strbReg:  {Insn: store(1, 0, 0), base: 3},
	ldrsbReg: {Insn: load(1, 0, 0, cpu.FlagSigned), base: 3},
	ldrReg:   {Insn: load(4, 0, 0, 0), base: 3},
	ldrhReg:  {Insn: load(2, 0, 0, 0), base: 3},
	ldrbReg:  {Insn: load(1, 0, 0, 0), base: 3},
	ldrshReg: {Insn: load(2, 0, 0, cpu.FlagSigned), base: 3},

	strImm:  {Insn: store(4, 0, cpu.NoReg), base: 3, imm: 6, mask: 31, scale: 2},
	ldrImm:  {Insn: load(4, 0, cpu.NoReg, 0), base: 3, imm: 6, mask: 31, scale: 2},
	strbImm: {Insn: store(1, 0, cpu.NoReg), base: 3, imm: 6, mask: 31},
	ldrbImm: {Insn: load(1, 0, cpu.NoReg, 0), base: 3, imm: 6, mask: 31},
	strhImm: {Insn: store(2, 0, cpu.NoReg), base: 3, imm: 6, mask: 31, scale: 1},
	ldrhImm: {Insn: load(2, 0, cpu.NoReg, 0), base: 3, imm: 6, mask: 31, scale: 1},
	strSP:   {Insn: store(4, SP, cpu.NoReg), src: 8, base: none, mask: 0xff, scale: 2},
	ldrPC:   {Insn: load(4, cpu.NoReg, cpu.NoReg, 0), dst: 8, mask: 0xff, scale: 2, fromPC: all},
	ldrSP:   {Insn: load(4, SP, cpu.NoReg, 0), dst: 8, base: none, mask: 0xff, scale: 2},
}

// three is a form's operation of two registers.
func three(op cpu.Op) cpu.Insn {
	return cpu.Insn{Op: op, Len: 2, Dst2: cpu.NoReg, Base: cpu.NoReg, Index: cpu.NoReg}
}

// two is a form's operation of a register and an immediate.
func two(op cpu.Op, dst, src cpu.Reg, flags cpu.Flags) cpu.Insn {
	return cpu.Insn{Op: op, Len: 2, Dst: dst, Dst2: cpu.NoReg, Src: src, Src2: cpu.NoReg,
		Base: cpu.NoReg, Index: cpu.NoReg, Flags: flags}
}

// load is a form's load of size bytes.
func load(size uint8, base, index cpu.Reg, flags cpu.Flags) cpu.Insn {
	return cpu.Insn{Op: cpu.OpLoad, Len: 2, Size: size, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
		Base: base, Index: index, Flags: flags}
}

// store is a form's store of size bytes.
func store(size uint8, base, index cpu.Reg) cpu.Insn {
	return cpu.Insn{Op: cpu.OpStore, Len: 2, Size: size, Dst: cpu.NoReg, Dst2: cpu.NoReg, Src2: cpu.NoReg,
		Base: base, Index: index}
}
