package arm

import "github.com/backsight/backsight/cpu"

// kind is a single load or store: whether it is a load, whether it extends the sign, and the
// logarithm of the size. The three are bits and not branches, which processors would often
// mispredict: loads and stores of all kinds follow one another.
type kind uint8

const (
	loads kind = 1 << iota
	signs
	half   kind = 1 << 2
	word   kind = 2 << 2
	double kind = 3 << 2
)

func (k kind) load() bool  { return k&loads != 0 }
func (k kind) size() uint8 { return 1 << (k >> 2 & 3) }

// bitKind is the bit n of w as loads.
func bitKind(w uint32, n uint) kind { return kind(w >> n & 1) }

// access is a load or store of rt at rn+off, indexed as P and W say (v7
// A8.5): offset, pre-indexed or post-indexed.
func access(o *cpu.Insn, k kind, rt, rn cpu.Reg, off int32, p, w bool, here uint32) {
	if p && !w && rt != PC && rn != PC {
		transfer(o, k, rt)
		o.Base, o.Imm = rn, int64(off)
		return
	}
	if rt == PC && k.load() && k.size() != 4 {
		unknown(o)
		return
	}
	start(o, k, rt, rn, here)
	if p {
		o.Imm += int64(off)
	}
	if rn == PC {
		o.Imm = int64(uint32(o.Imm))
	} else if (!p || w) && !(rt == rn && k.load()) {
		o.WB = off
	}
	if o.WB != 0 && o.Base == SP && k.size() == 4 && (o.WB == -4 && p && !k.load() || o.WB == 4 && !p && k.load()) {
		o.Flags |= cpu.FlagFrameSetup // push {rt}, pop {rt}
	}
}

// start fills in what all forms of access share. A PC as base is the constant
// here.
func start(o *cpu.Insn, k kind, rt, rn cpu.Reg, here uint32) {
	transfer(o, k, rt)
	o.Base = rn
	if rn == PC {
		o.Base, o.Imm = cpu.NoReg, int64(here)
	}
	if rt == PC && rn == SP && k.load() {
		o.Flags |= cpu.FlagReturn
	}
}

// transfer fills in what an access does with the register.
func transfer(o *cpu.Insn, k kind, rt cpu.Reg) {
	load := k & loads
	o.Size = k.size()
	o.Op = cpu.OpStore - cpu.Op(load)                    // OpLoad stands before OpStore
	o.Dst, o.Src = rt|cpu.Reg(load-1), rt|cpu.Reg(-load) // the other is NoReg: all bits
	o.Flags |= cpu.FlagSigned & -cpu.Flags(k>>1&1)
}

// accessIndexed is a load or store at rn+rm<<scale.
func accessIndexed(o *cpu.Insn, k kind, rt, rn, rm cpu.Reg, scale uint8, here uint32) {
	if rt == PC && k.load() && k.size() != 4 {
		unknown(o)
		return
	}
	start(o, k, rt, rn, here)
	o.Index, o.Scale = rm, scale
}

// accessUntold is a load or store whose address or write-back Insn cannot
// express: what it loads is lost, and so is the base where it changes.
func accessUntold(o *cpu.Insn, k kind, rt, rn cpu.Reg, writeBack bool) {
	if rt == PC && k.load() {
		jumpUnknown(o)
		if k.size() != 4 {
			unknown(o)
		}
		return
	}
	var set cpu.RegSet
	if k.load() {
		set = set.With(rt)
	}
	if writeBack {
		set = set.With(rn)
	}
	clobber(o, set)
}

// pair makes a load or store one of two registers.
func pair(o *cpu.Insn, rt2 cpu.Reg) {
	if rt2 == PC || o.Dst == PC || o.Src == PC {
		unknown(o)
		return
	}
	if o.Op == cpu.OpLoad {
		o.Dst2 = rt2
		if o.Base == rt2 {
			o.WB = 0
		}
		return
	}
	o.Src2 = rt2
}

// multiple is LDM and STM: list at rn in the mode P (before) and U (up).
func multiple(o *cpu.Insn, load bool, rn cpu.Reg, list uint32, p, u, w bool) {
	o.Op, o.Base, o.Size, o.List = cpu.OpStoreMulti, rn, 4, cpu.RegSet(list)
	if load {
		o.Op = cpu.OpLoadMulti
	}
	size := int32(4 * o.List.Len())
	switch {
	case u && p:
		o.Imm = 4
	case !u && p:
		o.Imm = int64(-size)
	case !u:
		o.Imm = int64(4 - size)
	}
	if !u {
		size = -size
	}
	if w && !(load && o.List.Has(rn)) {
		o.WB = size
	}
	if rn == SP && w && load == u && load != p {
		o.Flags |= cpu.FlagFrameSetup // pop is ldmia sp!, push is stmdb sp!
	}
	// Loading SP with the PC is how -mapcs-frame returns: ldmdb fp,{…,sp,pc}.
	if load && o.List.Has(PC) && (rn == SP || o.List.Has(SP)) {
		o.Flags |= cpu.FlagReturn
	}
}

// returnFromException is RFE: the PC and the CPSR from memory.
func returnFromException(o *cpu.Insn, rn cpu.Reg, p, u, w bool) {
	multiple(o, true, rn, 1<<PC, p, u, false)
	o.Op, o.Dst, o.List = cpu.OpLoad, PC, 0
	o.Flags |= cpu.FlagReturn | cpu.FlagException
	switch {
	case u && w:
		o.WB = 8
	case w:
		o.WB = -8
	}
	if !u {
		o.Imm -= 4 // two words, of which the PC is the lower
	}
}
