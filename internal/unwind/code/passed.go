package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/unwind"
)

// passed is what holds right at a call: block in terms of the beginning of the call's basic
// block, whole of the function's entry.
type passed struct {
	block, whole absint.State
	fn           *dataflow.Function
	arch         *cpu.Arch
	sp           int64  // SP less SP at the block's beginning
	steps        []step // of the block
	exposed      int64  // dataflow.LowestEscaping, 0 before that is needed
}

// at fills in what holds at a call.
func (p *passed) at(f *dataflow.Function, site disasm.Addr) bool {
	each := func(in *cpu.Insn) { p.steps = append(p.steps, step{*in, p.block.Operand(in)}) }
	if !dataflow.StateInBlock(f, site, &p.block, each) || !f.StateAt(site, &p.whole) {
		return false
	}
	p.fn = f
	sp := p.block.Regs[p.arch.SP]
	p.sp = sp.Off
	return sp.RelativeTo(p.arch.SP)
}

// register is what a register holds, in terms of the registers that a callee preserves, and of SP
// at the call.
func (p *passed) register(r cpu.Reg) unwind.Operand {
	if v := p.whole.Regs[r]; v.Kind == absint.Constant && v.Base != absint.FromWritable {
		return unwind.Operand{Kind: unwind.Number, Off: v.Off}
	}
	if o := p.operand(p.block.Regs[r]); o.Kind != unwind.Anything || len(p.steps) > maxComputing {
		return o
	}
	c := computation{passed: p}
	return c.before(len(p.steps), r)
}

// operand is a value of the block in those terms.
func (p *passed) operand(v absint.Value) unwind.Operand {
	switch v.Kind {
	case absint.Constant:
		if v.Base != absint.FromWritable {
			return unwind.Operand{Kind: unwind.Number, Off: v.Off}
		}
	case absint.StartRelative:
		if r, off, ok := p.holder(v.Base); ok {
			return unwind.Operand{Kind: unwind.InRegister, Reg: r, Off: v.Off - off}
		}
	case absint.StartMemory:
		if r, ok := p.copied(v); ok {
			return unwind.Operand{Kind: unwind.InRegister, Reg: r}
		}
		if r, off, ok := p.holder(v.Base); ok && v.Add == 0 {
			return unwind.Operand{Kind: unwind.InMemory, Reg: r, Off: v.Off - off}
		}
	}
	return unwind.Operand{}
}

// copied is a register that has a word of memory at the call as well, and that the callee gives back: the word may have
// changed since, and is passed by all calls that pass the register. What starts a thread in Rust calls the
// thread's closure, and gives the closure's memory back.
//
//	lw s3,0(s2); …; move a0,s3; jalr t9; …; move a0,s3; jalr t9
func (p *passed) copied(v absint.Value) (r cpu.Reg, ok bool) {
	for set := keptByCallees(p.arch); set != 0; set = set.Without(set.First()) {
		if p.block.Regs[set.First()] == v {
			return set.First(), true
		}
	}
	return 0, false
}

// holder is the register that holds a start value plus off at the call, and that the callee
// gives back: SP, or a preserved one.
func (p *passed) holder(base absint.Base) (r cpu.Reg, off int64, ok bool) {
	if base == absint.Base(p.arch.SP) {
		return p.arch.SP, p.sp, true
	}
	for set := keptByCallees(p.arch); set != 0; set = set.Without(set.First()) {
		if v := p.block.Regs[set.First()]; v.Kind == absint.StartRelative && v.Base == base {
			return set.First(), v.Off, true
		}
	}
	return 0, 0, false
}

// keptByCallees are the registers that a call preserves and that may hold any value.
func keptByCallees(arch *cpu.Arch) cpu.RegSet {
	return arch.Preserved.Without(arch.SP).Without(arch.PC)
}

// kept are clues of what the callee was passed in registers and keeps in a state of its own.
func kept(arch *cpu.Arch, st *absint.State, exact bool, own, other *passed, straight bool) (list []unwind.Clue) {
	passing := disasm.Code{Arch: arch}.CallerSaved().Without(arch.LR)
	for ; passing != 0; passing = passing.Without(passing.First()) {
		r := passing.First()
		what, ok := keeps(arch, st, exact, r)
		c := unwind.Clue{What: what, Own: own.register(r), Other: other.register(r), OfCallee: true, Straight: straight}
		if ok && c.Other.Kind != unwind.Anything && c.Own != c.Other {
			list = append(list, c)
		}
	}
	return list
}

// keeps is where a function keeps what it was passed in a register.
func keeps(arch *cpu.Arch, st *absint.State, exact bool, passed cpu.Reg) (o unwind.Operand, ok bool) {
	in := keptByCallees(arch)
	if exact {
		in = ^cpu.RegSet(0) >> (64 - len(arch.Regs))
	}
	for set := in.Without(arch.SP).Without(arch.PC); set != 0; set = set.Without(set.First()) {
		if v := st.Regs[set.First()]; v.RelativeTo(passed) {
			return unwind.Operand{Kind: unwind.InRegister, Reg: set.First(), Off: -v.Off}, true
		}
	}
	for i := range st.Slots {
		sl := &st.Slots[i]
		fits := int(sl.Size) == arch.AddrSize || sl.Size == 4 // an int, on processors of 64 bits
		if fits && sl.Val.IsStartOf(passed) && sl.Base == absint.Base(arch.SP) && !sl.Released() {
			return unwind.Operand{Kind: unwind.InMemory, Reg: arch.SP, Off: sl.Off - arch.EntryCFA, Size: sl.Size}, true
		}
	}
	return o, false
}

// stored are clues of what the caller holds itself: constants in preserved registers, and what
// the caller stored to its frame in front of the call, the arguments on the stack among them.
func stored(arch *cpu.Arch, own, other *passed) (list []unwind.Clue) {
	for set := keptByCallees(arch); set != 0; set = set.Without(set.First()) {
		r := set.First()
		c := unwind.Clue{What: unwind.Operand{Kind: unwind.InRegister, Reg: r}, Own: own.register(r), Other: other.register(r), Straight: true}
		if c.Own.Kind == unwind.Number && c.Other.Kind == unwind.Number && c.Own != c.Other {
			list = append(list, c)
		}
	}
	for i := range own.block.Slots {
		sl := &own.block.Slots[i]
		if sl.Base != absint.Base(arch.SP) || int(sl.Size) != arch.AddrSize || sl.Off < own.sp {
			continue
		}
		at := absint.Value{Kind: absint.StartRelative, Base: sl.Base, Off: sl.Off - own.sp + other.sp}
		v := other.block.Load(at, sl.Size)
		c := unwind.Clue{What: unwind.Operand{Kind: unwind.InMemory, Reg: arch.SP, Off: sl.Off - own.sp}, Own: own.operand(sl.Val), Straight: true}
		if v.Kind != absint.StartMemory {
			c.Other = other.operand(v)
		}
		known := func(o unwind.Operand) bool { return o.Kind == unwind.Number || o.Kind == unwind.InRegister }
		if known(c.Own) && known(c.Other) && c.Own != c.Other {
			list = append(list, c)
		}
	}
	return list
}
