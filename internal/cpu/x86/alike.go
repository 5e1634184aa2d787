package x86

import "github.com/backsight/backsight/cpu"

// Effects that differ in little are told by one function from a row of a table, found by
// the effect: a branch between them would often be mispredicted.

// clobbering changes nothing, or gives a register a value that nothing is known of.
type clobbering struct {
	op    cpu.Op
	flags cpu.Flags
	mask  cpu.RegSet
	rm    bool // the register is rm, not reg
}

var clobberings = [...]clobbering{
	nothing:    {},
	padding:    {flags: cpu.FlagPadding},
	clobberReg: {op: cpu.OpClobber, mask: ^cpu.RegSet(0)},
	clobberRM:  {op: cpu.OpClobber, mask: ^cpu.RegSet(0), rm: true},
}

func (in effectDecoder) clobbers(c *clobbering, out *cpu.Insn) {
	r, rm := uint(in.reg()), uint(in.rm())
	if c.rm {
		r = rm
	}
	out.Op, out.Flags = c.op, c.flags
	out.List = 1 << (r & 63) & c.mask
}

// transfer is a call, jump or branch to what a displacement says.
type transfer struct {
	op    cpu.Op
	flags cpu.Flags
	getPC cpu.Flags // for a displacement of 0, where the next instruction takes the address
	byte  bool      // of the displacement
}

var transfers = [...]transfer{
	call:    {op: cpu.OpCall, getPC: cpu.FlagGetPC},
	jump:    {op: cpu.OpJump},
	jump8:   {op: cpu.OpJump, byte: true},
	branch:  {op: cpu.OpJump, flags: cpu.FlagConditional},
	branch8: {op: cpu.OpJump, flags: cpu.FlagConditional, byte: true},
}

func (in effectDecoder) transfers(t *transfer, out *cpu.Insn, next uint64) {
	rel := in.relZ()
	if short := in.imm8(); t.byte {
		rel = short
	}
	out.Op, out.Flags, out.Target = t.op, t.flags, in.target(next, rel)
	if rel == 0 && readsPC(in.b[(in.immAt+4)&(window-1):]) {
		out.Flags |= t.getPC
	}
}

// access is a load or store.
type access struct {
	op       cpu.Op
	dst, src cpu.Reg // NoReg, or 0 for reg
	size     uint8
	operand  uint8 // mask: the size is that of the operand
	flags    cpu.Flags
	narrow   cpu.Flags // FlagWord32 where a result of 32 bits is zero-extended
}

var accesses = [...]access{
	store:      {op: cpu.OpStore, dst: cpu.NoReg, operand: 0xff},
	storeOther: {op: cpu.OpStore, dst: cpu.NoReg, src: cpu.NoReg, operand: 0xff},
	storeByte:  {op: cpu.OpStore, dst: cpu.NoReg, src: cpu.NoReg, size: 1},
	load:       {op: cpu.OpLoad, src: cpu.NoReg, operand: 0xff, narrow: cpu.FlagWord32},
	loadIf:     {op: cpu.OpLoad, src: cpu.NoReg, operand: 0xff, narrow: cpu.FlagWord32, flags: cpu.FlagConditional},
	loadZ8:     {op: cpu.OpLoad, src: cpu.NoReg, size: 1},
	loadZ16:    {op: cpu.OpLoad, src: cpu.NoReg, size: 2},
	loadS8:     {op: cpu.OpLoad, src: cpu.NoReg, size: 1, narrow: cpu.FlagWord32, flags: cpu.FlagSigned},
	loadS16:    {op: cpu.OpLoad, src: cpu.NoReg, size: 2, narrow: cpu.FlagWord32, flags: cpu.FlagSigned},
}

// accesses sets the effects of a load or store. Where the address is not known to code,
// in the thread's data or cut off, it is not the stack.
func (in effectDecoder) accesses(a *access, out *cpu.Insn, next uint64) {
	size, reg, src := in.size(), in.reg(), a.src
	if flat := in.flat(); !flat || !wide(size) {
		switch {
		case a.op == cpu.OpLoad:
			clobber1(out, reg)
			out.Flags = a.flags & cpu.FlagConditional
			return
		case !flat:
			return
		}
		src = cpu.NoReg
	}
	out.Op, out.Dst, out.Src = a.op, reg|a.dst, reg|src
	out.Size = a.size | size&a.operand
	out.Flags = a.flags | in.narrow(size)&a.narrow
	in.effective(out, next)
}
