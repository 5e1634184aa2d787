package unwind_test

import (
	"testing"

	"github.com/backsight/backsight/unwind"
)

// TestThreadStart: main's call of f is where the thread began. What lies on the stack behind
// main's frame was put there by whoever made the thread.
func TestThreadStart(t *testing.T) {
	arch := o32()
	for _, c := range []struct {
		what      string
		threadEnd uint64
		stop      unwind.StopReason
		want      unwind.Trust
	}{
		{"the code behind the call ends the thread", inMain, unwind.StopRoot, unwind.Certain},
		{"the code behind the call goes on", 0, unwind.StopNoRule, unwind.Likely},
	} {
		snap := stopped(arch, stackOf(arch))
		source := tables(arch, unwind.MethodCode, 0)
		source.ends = nil
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred, threadEnd: c.threadEnd}})
		for round := range 3 {
			frames, stop := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 3 || stop.Reason != c.stop || frames[2].Trust != c.want {
				t.Errorf("%s, round %d: %v, %+v", c.what, round, stop.Reason, frames)
			}
		}
	}
}
