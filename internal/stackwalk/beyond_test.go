package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestReturnAddressBeyondMemory: a table says where f's return address lies, and the capture ends
// before that. No word that was captured is searched for another one, unless the rule is no more
// than a hint.
func TestReturnAddressBeyondMemory(t *testing.T) {
	for _, c := range []struct {
		flags stackwalk.RuleFlags
		asked int
	}{{0, 0}, {stackwalk.Fallback, 1}} {
		arch := o32()
		snap := stopped(arch, synth.Stack(arch).Word(inMain).Zero(8).Place(0x7fff_0000)) // f's frame has 32 bytes
		asked := 0
		w := stackwalk.NewWalker(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred}, Sources: []stackwalk.Source{
			tables(arch, unwind.MethodCFI, c.flags), rules{method: unwind.MethodScan, asked: &asked}}})
		frames, stop := w.Walk(&snap.Threads[0], nil)
		if len(frames) != 2 || stop.Reason != unwind.StopUnreadable || stop.Addr != 0x7fff_001c || asked != c.asked {
			t.Errorf("flags %v: %d frames, stop %+v, the search was asked %d times, want %d", c.flags, len(frames), stop, asked, c.asked)
		}
	}
}
