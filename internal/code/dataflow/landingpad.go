package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// goesOn tells whether the code at a place, behind the landing pads that were explored, is another landing pad.
// Code that calls and has saved the return address nowhere is one, even if the call never returns: no such
// function stands among landing pads.
func (p *landingPads) goesOn(e *explorer, at disasm.Addr) bool {
	if p.steps > maxLandingPadSteps || e.an.Entries.IsEntry(at) {
		return false
	}
	g := e.an.Function(at)
	p.steps += g.Steps()
	return !g.BrokenOff && (g.IsLandingPadOf(p.owner) || g.Calls && keepsNoRA(g)) && Within(g, p.owner)
}

// IsLandingPadOf tells whether code that no flow leads to is a part of the function before that code. The code
// then does what no function does at its beginning:
//
//	ReadsPreserved     reads a callee-saved register that the code has not set
//	Contradicted       returns with a frame that the code has not made
//	LosesRA            calls, and has saved the return address nowhere
//	Resumes            throws the exception on (_Unwind_Resume), and no call before has come back
//	clobbersPreserved  overwrites a callee-saved register that the code has not saved
//	joins              jumps into the function, where that has a frame
//	misaligns          calls with SP where the function never has SP
//	traps              is the trap that compilers put behind a call that never returns
//
// The last four are no evidence where some path returns with SP and the return address as on entry (Balanced). Nothing is where the
// code begins with room for a frame and saves the return address that it was entered with, as functions alone do: behind a call that
// never returns, code of libgphobos' functions for MIPS64 reads what was set on other ways, by jump tables that were not read.
func (f *Function) IsLandingPadOf(owner *Function) bool {
	resumes := f.Resumes && f.BehindCalls == "" // no code that another call has come back to
	unlike := f.ReadsPreserved || f.Contradicted() || f.LosesRA() || resumes
	unlike = unlike || !f.Balanced && (clobbersPreserved(f) || joins(f, owner) || misaligns(f, owner) || traps(f))
	return unlike && !(f.SavesRA && f.an.makesRoom(f.Entry))
}

// misaligns tells whether the code calls only with SP a multiple of 16 below SP at its beginning, while the
// function before it keeps the rule of i386's ABI (System V ABI, Intel386, 2.2.2): the first argument is at
// a multiple of 16, so that SP at a function's beginning is 4 below one. Where the runtime enters a landing pad,
// SP is a multiple of 16. Much code is older than the rule, or built without
// (-mpreferred-stack-boundary=2): the function must keep the rule at nearly all calls.
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

// joins tells whether the code f comes, without a frame of its own, to a place where the function o has a
// frame. A function would return with that frame still on the stack.
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
	return b.afterCall == 0 && b.via <= edgeTable && !b.sp.IsStartOf(f.an.Arch.SP)
}

// clobbersPreserved tells whether a preserved register is overwritten on some way and kept nowhere, as
// in no function: clang's landing pads for i386 begin with mov %eax,%esi.
func clobbersPreserved(f *Function) bool {
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

// Within tells whether all code of f lies near code of o, as the parts of one function do.
func Within(f, o *Function) bool {
	for _, b := range f.blocks {
		if !o.Enters(b.start) {
			return false
		}
	}
	return true
}
