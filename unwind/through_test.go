package unwind_test

import (
	"testing"

	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestThrough: f was called by h through s0, which f gives back, and another function calls through a register, one
// bit away. Where s0 is still f's address, h's call went to f, and the other call is none to doubt for unless
// that is h's and went through a register with the same address.
func TestThrough(t *testing.T) {
	const inOther, alsoInH, leafOfF = inH ^ 0x100, inH ^ 0x10, fEntry + 8
	const doubts = unwind.OneBitAway | unwind.OneBitElsewhere
	arch := o32()
	s0, _ := arch.RegByName("s0")
	s1, _ := arch.RegByName("s1")
	source := tables(arch, unwind.MethodCFI, 0)
	source.at[leafOfF] = source.at[inG]
	held := unwind.Operand{Kind: unwind.InRegister, Reg: s0}
	for _, tt := range []struct {
		what    string
		other   uint64 // where the other call returns to
		s0      uint64
		through map[uint64]unwind.Operand
		want    unwind.Checks
	}{
		{"f's address", inOther, fEntry, map[uint64]unwind.Operand{inH - 8: held}, unwind.TargetMatches},
		{"the other register holds something else", inOther, fEntry,
			map[uint64]unwind.Operand{inH - 8: held, inOther - 8: {Kind: unwind.InRegister, Reg: s1}}, unwind.TargetMatches},
		{"the other went through the same register", inOther, fEntry,
			map[uint64]unwind.Operand{inH - 8: held, inOther - 8: held}, unwind.TargetMatches | unwind.OneBitElsewhere},
		{"h's other call went who knows where", alsoInH, fEntry, map[uint64]unwind.Operand{inH - 8: held}, unwind.TargetMatches},
		{"h's other call went there too", alsoInH, fEntry,
			map[uint64]unwind.Operand{inH - 8: held, alsoInH - 8: held}, unwind.TargetMatches | unwind.OneBitAway},
		{"another function's address", inOther, gEntry, map[uint64]unwind.Operand{inH - 8: held}, unwind.OneBitElsewhere},
		{"through a register that f changes", inOther, fEntry, nil, unwind.OneBitElsewhere},
	} {
		snap := stopped(arch, synth.Stack(arch).Zero(20).Word(inMain).Zero(64).Place(0x7fff_0000))
		snap.Threads[0].Regs = *synth.Regs(arch, map[string]uint64{"pc": leafOfF, "sp": 0x7fff_0000, "ra": inH, "s0": tt.s0, "s1": gEntry})
		copy(snap.Modules[0].Image.Segments.Code(tt.other-8), snap.Modules[0].Image.Segments.Code(inH - 8)[:4])
		calls := graph{holds: sameHundred, through: tt.through}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: calls})
		for round := range 2 {
			frames, _ := w.Walk(&snap.Threads[0], nil)
			if len(frames) < 2 || frames[1].PC != inH || frames[1].Checks&(unwind.TargetMatches|doubts) != tt.want {
				t.Errorf("%s, round %d: %+v", tt.what, round, frames)
			}
		}
	}
}
