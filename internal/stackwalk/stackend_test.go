package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestStackEnds: f is the function of a thread. Its return address, which no call made, is
// what the kernel put there, and so is a 0: the walk ends where the stack that the capture
// states begins. Without such bounds the same words may be damage. Where a call stands
// before the return address the walk goes on: main begins where the stack of f's caller
// begins, too.
func TestStackEnds(t *testing.T) {
	arch := o32()
	ends := func(ra uint64, stated bool) ([]uint64, unwind.Stop) {
		stack := synth.Stack(arch).Zero(28).Word(ra).Zero(64).Place(0x7fff_0000)
		snap := stopped(arch, stack)
		if stated {
			snap.Threads[0].Stack = target.Range{Lo: stack.Base, Hi: stack.Base + 40}
		}
		frames, stop := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
		return pcs(frames), stop
	}
	for _, c := range []struct {
		name   string
		ra     uint64
		stated bool
		frames []uint64
		reason unwind.StopReason
	}{
		{"a function's first instruction", hEntry, true, []uint64{inG, inF}, unwind.StopRoot},
		{"no code at all", 0x10, true, []uint64{inG, inF}, unwind.StopRoot},
		{"0", 0, true, []uint64{inG, inF}, unwind.StopRoot},
		{"0, no bounds", 0, false, []uint64{inG, inF}, unwind.StopNullPC},
		{"no bounds", hEntry, false, []uint64{inG, inF, hEntry}, unwind.StopNoRule},
		{"behind a call", inMain, true, []uint64{inG, inF, inMain}, unwind.StopRoot},
	} {
		if got, stop := ends(c.ra, c.stated); !slices.Equal(got, c.frames) || stop.Reason != c.reason {
			t.Errorf("%s: %#x, stop %v; want %#x, %v", c.name, got, stop.Reason, c.frames, c.reason)
		}
	}
}
