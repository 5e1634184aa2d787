// Package seh finds unwind rules in what PE files say of their functions: the tables of Windows' structured exception handling.
//
//	x64     UNWIND_INFO: what the prologue does, instruction by instruction; epilogues are recognised by their code
//	ARM64   packed words and .xdata: what prologue and epilogues do, a code an instruction
//
// Both are exact at every instruction. On x64 a function without an entry calls nobody and leaves the stack pointer alone.
//
// Specifications: Microsoft, "x64 exception handling" and "ARM64 exception handling".
package seh

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source implements stackwalk.RuleSource. It has no state of its own.
type Source struct{}

var _ stackwalk.RuleSource = Source{}

// Method is MethodCFI.
func (Source) Method() unwind.Method { return unwind.MethodCFI }

// Knows implements stackwalk.ImageSource.
func (Source) Knows(img *image.Image) bool { return img.Table(image.RuntimeFunctions).Size != 0 }

// Rule reads the entry that covers q.PC. There is one answer per place.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 || !(Source{}).Knows(q.Image) {
		return unwind.NotCovered
	}
	u := undoing{q: q, out: out, base: q.Arch.SP}
	f, ok := pdata.Find(q.Image, q.PC)
	switch {
	case !ok && q.Arch.CallPushesRA && q.Exact && q.Image.Segments.Executable(q.PC):
		u.returned() // a leaf
		return unwind.Found
	case !ok:
		return unwind.NotCovered
	}
	if f.Entry == outermost(q.Image) {
		return unwind.EndOfStack
	}
	out.Start, out.Flags = f.Entry, out.Flags|stackwalk.StartStated
	if q.Arch.CallPushesRA {
		return u.x64(&f)
	}
	return u.arm64(&f)
}

// outermost is where the function begins that Windows starts each thread in, 0 in all images but ntdll. Nobody calls that
// function: the word where its return address would be is 0.
func outermost(img *image.Image) uint64 {
	type key struct{}
	return img.Memo(key{}, func() any {
		s, _ := img.Symbols.Named("RtlUserThreadStart")
		return s.Addr
	}).(uint64)
}

// undoing makes the rule of a place by undoing what a prologue did, or by doing what is left of an epilogue.
type undoing struct {
	q   *stackwalk.Query
	out *stackwalk.Rule
	// The stack pointer, as far as it was undone: what register base holds at the place, plus off.
	base cpu.Reg
	off  int64
}

// restore says that a register lies at bytes above the stack pointer of this moment.
func (u *undoing) restore(r cpu.Reg, at int64) {
	u.restoreAt(r, u.base, u.off+at)
}

// restoreAt says that a register lies at an offset from what another holds. Of several words the last one told counts.
func (u *undoing) restoreAt(r, base cpu.Reg, off int64) {
	rule := stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: r, Base: base, Off: off}
	for i := range u.out.N {
		if u.out.Regs[i].Reg == r {
			u.out.Regs[i] = rule
			return
		}
	}
	u.out.Add(rule)
}

// finish sets the CFA to bytes above the stack pointer, and says the registers by the CFA where that is known by the same register.
func (u *undoing) finish(above int64) {
	u.off += above
	u.out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: u.base, Off: u.off}
	byCFA := func(r *stackwalk.RegRule) {
		if r.Kind == stackwalk.AtReg && r.Base == u.base {
			r.Kind, r.Base, r.Off = stackwalk.AtCFA, cpu.NoReg, r.Off-u.off
		}
	}
	byCFA(&u.out.RA)
	for i := range u.out.N {
		byCFA(&u.out.Regs[i])
	}
}

// returned is the state at a function's first instruction on x64, or at its return.
func (u *undoing) returned() {
	word := int64(u.q.Arch.RegSize)
	u.out.RA = stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: cpu.NoReg, Base: u.base, Off: u.off}
	u.finish(word)
}
