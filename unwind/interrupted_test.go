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
