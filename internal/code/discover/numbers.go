package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Step is an instruction of a function, with the numbers that the instruction is about.
type Step struct {
	At disasm.Addr
	In *cpu.Insn
	// Value, if Built, is the number that the instruction completes in a register.
	Value uint64
	Built bool
	// Word, if HasWord, is the image address of the word that the instruction reads.
	Word    uint64
	HasWord bool
}

// EachStep calls visit for the instructions of a function from its entry up to end, by address, with the numbers that
// compilers build there in the usual ways, until visit returns false. Like MentionsOf, a number is followed in the order of
// addresses: what the delay slot of a branch has begun may be missed.
func (e *Entries) EachStep(entry disasm.Addr, end uint64, visit func(s *Step) bool) {
	gp := e.known().certain().gp
	t := newTracker(e.code, &gp)
	t.begin()
	t.now.setAll(e.code.Arch.SelfRegs, absint.Signed(entry.PC, e.code.Arch))
	mask := e.code.Arch.AddrMask()
	disasm.Each(e.code, entry, end, func(at disasm.Addr, in *cpu.Insn) bool {
		s := Step{At: at, In: in}
		s.Word, s.HasWord = t.word(in)
		v, built := t.step(in)
		if e.code.Arch.PCThunk && in.Op == cpu.OpCall && in.Target != 0 {
			t.readPC(in, at.PC)
		}
		s.Value, s.Built = uint64(v)&mask, built
		return visit(&s)
	})
}
