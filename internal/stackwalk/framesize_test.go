package stackwalk_test

import (
	"maps"
	"testing"

	"github.com/backsight/backsight/internal/chain"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestFrameSizes: a capture lists h in f, twice, and nothing of the stack was captured. Tables tell the size of h's
// frame and of f's, and nothing of main's. A table that is a fallback, or that finds the CFA by another register, tells no size.
func TestFrameSizes(t *testing.T) {
	arch := o32()
	byFP := tables(arch, unwind.MethodCFI, 0)
	byFP.at[inF][0].CFA.Base, _ = arch.RegByName("s8")
	for _, c := range []struct {
		what   string
		source stackwalk.Source
		want   map[int]uint64
	}{
		{"tables", tables(arch, unwind.MethodCFI, 0), map[int]uint64{1: 32, 2: 24, 3: 24}},
		{"a fallback", tables(arch, unwind.MethodCFI, stackwalk.Fallback), map[int]uint64{}},
		{"another register", byFP, map[int]uint64{2: 24, 3: 24}},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		th := &snap.Threads[0]
		th.Listed = listOf("400208! 400118 400318 400318 400018 -.")
		opt := stackwalk.Options{Sources: []stackwalk.Source{c.source}, CallGraph: graph{holds: sameHundred}}
		frames, stop := stackwalk.NewWalker(snap, opt).Walk(th, nil)
		frames, _, _ = chain.Splice(snap, &opt, th, frames, stop)
		if got := stackwalk.FrameSizes(snap, []stackwalk.Source{c.source}, frames); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v of %d frames", c.what, got, c.want, len(frames))
		}
	}
}
