// Package stackuse tells how much stack one function takes by itself, and how deep the stack is where it calls others:
//
//	dataflow.EachStep ─► low   where SP may stand lowest before and behind each instruction
//	                  ─► most  how large a register may be that is subtracted from SP
//	                  ─► calls where each call and each jump out of the function goes
//	                  ─► pads  the same of the code that exceptions enter
//
// All depths are bytes below the CFA, which is SP in the caller at the call. So a return address that the call
// pushes counts for the function that is called, as GCC's -fstack-usage has it.
package stackuse

import (
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Use is what a function does with its stack.
type Use struct {
	Entry disasm.Addr
	// Own is how deep SP comes in the function itself.
	Own int64
	// Reach is how deep the function writes: more than Own where it writes below SP, into the red zone (System V
	// ABI, AMD64 supplement, 3.2.2).
	Reach int64
	// Dynamic: the frame's size is computed at run time, within Own unless a doubt says otherwise: SP is aligned
	// by more than the ABI does, or a variable array has a bound.
	Dynamic bool
	Calls   []Call
	Doubts  []Doubt
	// Steps is how many instructions the analysis executed.
	Steps int
}

// Call is a call, or a jump to another function.
type Call struct {
	// Site is the address of the call.
	Site disasm.Addr
	// Depth is how deep the callee's CFA lies below the caller's.
	Depth int64
	// Jump: a tail call. Indirect: through a register or a word, not by the instruction alone.
	Jump, Indirect bool
	// To are the functions that may be called, in the image. Sure: there are no others.
	To   []disasm.Addr
	Sure bool
	// Import is the name of a function of another image that is called, "" for none.
	Import string
}

// Doubt is a place from which on a function may take more stack than is counted.
type Doubt struct {
	At  uint64
	Why Reason
}

// Reason says why the stack may be deeper than is counted.
type Reason uint8

const (
	// Dynamic: SP is lowered by a number that the program computes, and the code shows no bound: alloca, an array
	// of variable length. 0 bytes are counted.
	Dynamic Reason = iota
	// Loop: SP is lowered in a loop. One turn is counted, or a few.
	Loop
	// OtherStack: SP gets a value of which nothing is known, and is used.
	OtherStack
	// Unfollowed: where a jump goes is not known, so that some of the function's code was not seen.
	Unfollowed
	// TooLarge: the function has more code than an analysis may cost.
	TooLarge
	// NoCode: the bytes at a place are no instructions.
	NoCode
	// LandingPads: exceptions enter the function at code of which not all was seen.
	LandingPads
)

var reasons = [...]string{"alloca or variable array without a bound", "SP moves in a loop", "SP is set to an unknown value",
	"a jump is not followed", "the function is too large", "no instructions", "landing pads of exceptions are not followed"}

func (r Reason) String() string { return reasons[r] }

// Of tells of the function that begins at an entry. exceptions may be nil.
func Of(code *analyses.Image, entry disasm.Addr, exceptions Exceptions) *Use {
	f := code.Flows.Function(entry)
	w := newWalk(code, f)
	w.settle()
	w.throw(exceptions)
	u := &Use{Entry: entry, Steps: f.Steps() + w.pads.steps, Dynamic: w.dynamic, Doubts: w.doubts, Calls: w.calls}
	u.Own = code.Arch.EntryCFA - w.lowest
	u.Reach = max(u.Own, code.Arch.EntryCFA-w.reach)
	u.addDoubts(f, w)
	return u
}

// addDoubts adds what the analysis of the function as a whole did not see.
func (u *Use) addDoubts(f *dataflow.Function, w *walk) {
	at := f.Entry.PC
	switch {
	case f.Blocks() == 0 || w.steps == 0:
		u.Doubts = append(u.Doubts, Doubt{at, NoCode})
	case f.BrokenOff:
		u.Doubts = append(u.Doubts, Doubt{at, TooLarge})
	}
}

// place is where SP stands as a value says: bytes above SP on entry, negative below. known: the value is
// relative to that, or to a symbol of which the walk knows.
func (w *walk) place(v absint.Value) (off int64, known bool) {
	switch {
	case v.RelativeTo(w.sp):
		return v.Off, true
	case v.Kind == absint.Constant:
		return min(0, w.number(v)-w.top), w.hasTop
	case v.Kind == absint.StartRelative && !v.OfRegister():
		base, ok := w.symbols[v.Base]
		return base + v.Off, ok
	}
	return 0, false
}
