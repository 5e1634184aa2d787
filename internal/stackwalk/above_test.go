package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/unwind/scan"
	"github.com/backsight/backsight/unwind"
)

// TestStackPointerAbove: of g, whose rule nobody knows, a search finds the caller f and where f's SP is at least. f's rule finds
// a 0 from there, for g has more words above its return address: of those behind, only the return address of a call to f is the
// caller's. Where no such word comes, the chain ends with f. No word counts that lies lower than f's rule allows.
func TestStackPointerAbove(t *testing.T) {
	arch := o32()
	for _, c := range []struct {
		name  string
		words []uint64
		want  []uint64
		stop  unwind.StopReason
	}{
		{"a call to f", []uint64{inF, 0, 0, 0, 0, 0, 0, 0, 0, 0, inH, inMain, 0}, []uint64{inG, inF, inMain}, unwind.StopRoot},
		{"other calls", []uint64{inF, 0, 0, 0, 0, 0, 0, 0, 0, 0, inH, 0}, []uint64{inG, inF}, unwind.StopNoRule},
		{"within f's frame", []uint64{inF, inMain, 0, 0, 0, 0, 0, 0, 1, 0, 0}, []uint64{inG, inF}, unwind.StopNoRule},
		{"SP is as low as that", []uint64{inF, 0, 0, 0, 0, 0, 0, 0, inMain, 0, 0, inH, 0}, []uint64{inG, inF, inMain}, unwind.StopRoot},
	} {
		g := graph{holds: sameHundred}
		cfi := tables(arch, unwind.MethodCFI, 0)
		delete(cfi.at, inG)
		snap := stopped(arch, synth.Stack(arch).Words(c.words...).Place(0x7fff_0000))
		snap.Threads[0].Regs.Forget(arch.LR)
		frames, stop := walk(snap, stackwalk.Options{CallGraph: g, Sources: []stackwalk.Source{cfi, scan.New(g)}})
		if got := pcs(frames); !slices.Equal(got, c.want) || stop.Reason != c.stop {
			t.Errorf("%s: %#x, %v", c.name, got, stop)
		}
	}
}
