package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestWalkSample: a sample of registers and stack has the frames of a snapshot that holds
// the same; the snapshot that the walker was made with has modules only.
func TestWalkSample(t *testing.T) {
	arch := o32()
	opt := stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}}
	for _, c := range []struct {
		what  string
		stack synth.Placed
		keep  int // bytes of the stack
		stop  unwind.StopReason
	}{
		{"the whole stack", stackOf(arch), 96, unwind.StopRoot},
		{"the stack elsewhere", synth.Stack(arch).Zero(28).Word(inMain).Zero(64).Place(0x7ffe_0000), 96, unwind.StopRoot},
		{"a copy that ends in f's frame", stackOf(arch), 16, unwind.StopUnreadable},
		{"no stack at all", stackOf(arch), 0, unwind.StopUnreadable},
	} {
		c.stack.Data = c.stack.Data[:c.keep]
		snap := stopped(arch, c.stack)
		want, _ := walk(snap, opt)
		w := stackwalk.NewWalker(&target.Snapshot{Arch: arch, Modules: snap.Modules}, opt)
		sample := unwind.Sample{Regs: snap.Threads[0].Regs, Base: c.stack.Base, Stack: c.stack.Data}
		for round := range 3 {
			got, stop := w.WalkSample(&sample, nil)
			if !slices.Equal(got, want) || stop.Reason != c.stop {
				t.Errorf("%s, round %d: %+v, %v\nwant %+v, %v", c.what, round, got, stop.Reason, want, c.stop)
			}
		}
	}
}

// TestWalkSampleAllocates: samples that differ cost no allocation, once their code is known.
func TestWalkSampleAllocates(t *testing.T) {
	arch := o32()
	stack := stackOf(arch)
	snap := stopped(arch, stack)
	w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
	sample := unwind.Sample{Regs: snap.Threads[0].Regs, Base: stack.Base, Stack: stack.Data}
	dst := make([]unwind.Frame, 0, 8)
	n := testing.AllocsPerRun(100, func() {
		dst, _ = w.WalkSample(&sample, dst[:0])
		sample.Base += 64
		sample.Regs.Set(arch.SP, sample.Base)
	})
	if n != 0 || len(dst) != 3 {
		t.Errorf("%v allocations a walk of %d frames", n, len(dst))
	}
}
