package unwind_test

import (
	"testing"

	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestBehindInterrupted: g, which h called through a register, was interrupted. The table does not
// say where that call went; the code does, and is asked for it.
func TestBehindInterrupted(t *testing.T) {
	arch := o32()
	snap, interrupted := inHandler(arch)
	sp, _ := interrupted.Lookup(arch.SP)
	interrupted = synth.Regs(arch, map[string]uint64{"pc": inG, "sp": sp, "ra": inH})
	for callee, want := range map[uint64]unwind.Checks{gEntry: unwind.TargetMatches, fEntry: 0, 0: 0} {
		frames, _ := walk(snap, unwind.Options{Sources: []unwind.Source{signals{regs: *interrupted}, tables(arch, unwind.MethodCFI, 0)},
			CallGraph: graph{holds: sameHundred, callee: callee}})
		if len(frames) < 4 || frames[3].PC != inH || frames[3].Checks&unwind.TargetMatches != want {
			t.Errorf("the call goes to %#x: %+v", callee, frames)
		}
	}
}

// TestElsewhereInTables: f was called by h through a register, and so was who knows what by another
// function, one bit away. The table does not say where h's call went. Where that goes to f, the other
// call is none to doubt for: nothing tells that it goes there too.
func TestElsewhereInTables(t *testing.T) {
	const inOther, leafOfF = inH ^ 0x100, fEntry + 8
	arch := o32()
	source := tables(arch, unwind.MethodCFI, 0)
	source.at[leafOfF] = source.at[inG]
	for callee, want := range map[uint64]unwind.Checks{fEntry: unwind.TargetMatches, gEntry: unwind.OneBitElsewhere, 0: unwind.OneBitElsewhere} {
		snap := stopped(arch, synth.Stack(arch).Zero(20).Word(inMain).Zero(64).Place(0x7fff_0000))
		snap.Threads[0].Regs = *synth.Regs(arch, map[string]uint64{"pc": leafOfF, "sp": 0x7fff_0000, "ra": inH})
		copy(snap.Modules[0].Image.Segments.Code(inOther-8), snap.Modules[0].Image.Segments.Code(inH - 8)[:4])
		calls := graph{holds: sameHundred, calleeAt: map[uint64]uint64{inH - 8: callee}}
		frames, _ := walk(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: calls})
		if len(frames) < 2 || frames[1].PC != inH || frames[1].Checks&(unwind.TargetMatches|unwind.OneBitElsewhere) != want {
			t.Errorf("h's call goes to %#x: %+v", callee, frames)
		}
	}
}
