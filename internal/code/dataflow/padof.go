package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// goesOn tells whether the code at a place, behind the pads that were explored, is another one. What calls
// without a return address kept is, even if the call never returns: where pads stand no function
// of that kind does.
func (p *landingPads) goesOn(e *explorer, at disasm.Addr) bool {
	if p.steps > maxPadSteps || e.an.Entries.IsEntry(at) {
		return false
	}
	g := e.an.Function(at)
	p.steps += g.Steps()
	return !g.BrokenOff && (g.PadOf(p.owner) || g.Calls && keepsNoRA(g) || joins(g, e.Function)) && Within(g, p.owner)
}

// PadOf tells whether code that no flow leads to is a part of the function before it: it uses what the
// function left in registers or overwrites that, returns with a frame that it did not make, calls
// without a way back or with SP as no function has it, throws on at once, goes on in the function, or is what
// compilers put behind a call that never returns.
func (f *Function) PadOf(owner *Function) bool {
	resumes := f.Resumes && f.BehindCalls == "" // no code that another call has come back to
	return f.ReadsPreserved || f.Contradicted() || f.Loses() || resumes || !f.Balanced && (Undefines(f) || joins(f, owner) || misaligns(f, owner) || traps(f))
}

// misaligns tells whether the code calls with SP at a multiple of 16 below its entry only, and the function
// before it as i386's ABI has it (System V ABI, Intel386, 2.2.2): with the first argument at a multiple of
// 16, and the return address below that. SP is at a multiple of 16 where the runtime enters a landing
// pad. Much code for i386 is older than that rule, or built without (-mpreferred-stack-boundary=2): the
// function tells.
func misaligns(f, owner *Function) bool {
	const aligned, entered = 1, 0
	return owner.CallsAt.mostly(aligned) && f.CallsAt.only(entered)
}

// traps tells whether the code does nothing but drop arguments and come to a trap: compilers put that
// behind calls that never return, or a jump to the only trap that they make.
func traps(f *Function) bool {
	var in cpu.Insn
	for at, n := f.Entry, 0; n < maxToTrap && f.an.One(at, &in); n++ {
		switch {
		case in.Op == cpu.OpJump && in.Target != 0 && in.Flags&cpu.FlagConditional == 0:
			at = disasm.Target(&in)
		case in.Op == cpu.OpAddImm && in.Dst == f.an.Arch.SP:
			at.PC += uint64(in.Len)
		default:
			return in.Op == cpu.OpTrap
		}
	}
	return false
}

// maxToTrap bounds the instructions in front of a trap.
const maxToTrap = 4

// joins tells whether the code comes, without a frame of its own, to a place of another function that
// has one there: it is no function, which would return with that frame.
func joins(f, o *Function) bool {
	for _, b := range f.blocks {
		if !b.sp.IsStartOf(f.an.Arch.SP) {
			continue
		}
		if c, _ := o.blocks.at(b.start); c != nil && c.start == b.start && c.framed(o) {
			return true
		}
	}
	return false
}

// framed tells whether a block of a function is entered with SP other than on entry. What falls
// through a call may be another function's beginning.
func (b *block) framed(f *Function) bool {
	flows := b.afterCall == 0 && b.via <= edgeTable
	return (flows || f.further) && !b.sp.IsStartOf(f.an.Arch.SP)
}

// Undefines tells whether a preserved register is overwritten on some way and kept nowhere, as
// in no function: clang's landing pads for i386 begin with mov %eax,%esi.
func Undefines(f *Function) bool {
	var st absint.State
	for _, b := range f.blocks {
		b.in.Decode(&st)
		for s := f.an.Arch.Preserved; s != 0; s = s.Without(s.First()) {
			if r := s.First(); !st.Regs[r].IsStartOf(r) && !st.Holds(absint.StartOf(r)) {
				return true
			}
		}
	}
	return false
}

// Within tells whether all code of f lies near code of o: where both are parts of one
// function, the one jumps into the other.
func Within(f, o *Function) bool {
	for _, b := range f.blocks {
		if !o.Enters(b.start) {
			return false
		}
	}
	return true
}
