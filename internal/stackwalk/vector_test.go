package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// byLink finds a caller by the link register, as a search does.
type byLink struct{}

func (byLink) Method() unwind.Method { return unwind.MethodScan }

func (byLink) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	ra, ok := s.Regs.Lookup(s.Snapshot.Arch.LR)
	if !ok {
		return unwind.NotCovered
	}
	*out = stackwalk.Caller{Regs: *s.Regs}
	out.Regs.Set(s.Snapshot.Arch.PC, ra)
	out.Regs.Forget(s.Snapshot.Arch.LR)
	return unwind.Found
}

// TestVector: h begins with an exception vector, at which the processor stopped: f was interrupted, or what it called. That the call
// before the return address goes to g says nothing, nor does a rule of h.
func TestVector(t *testing.T) {
	arch := o32()
	for _, c := range []struct {
		name   string
		vector bool
		frames []uint64
		method unwind.Method
		trust  unwind.Trust
	}{
		{"a vector", true, []uint64{hEntry, inF, inMain}, unwind.MethodScan, unwind.Guess},
		{"a function", false, []uint64{hEntry, inMain}, unwind.MethodCFI, unwind.Likely},
	} {
		snap := stopped(arch, stackOf(arch))
		th := &snap.Threads[0]
		th.Regs.Set(arch.PC, hEntry)
		th.AtVector = c.vector
		src := tables(arch, unwind.MethodCFI, 0)
		src.at[hEntry] = []stackwalk.Rule{saved(arch, 32, 0)}
		nowhere := graph{holds: func(_, _ uint64) stackwalk.Answer { return stackwalk.No }}
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{src, byLink{}}, CallGraph: nowhere})
		if got := pcs(frames); !slices.Equal(got, c.frames) {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.frames)
			continue
		}
		if frames[1].Method != c.method || c.vector && frames[1].Trust != c.trust {
			t.Errorf("%s: %v, %v", c.name, frames[1].Method, frames[1].Trust)
		}
	}
}
