package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// otherStack has the caller of the innermost frame on a stack below.
type otherStack struct{ switched bool }

func (otherStack) Method() unwind.Method { return unwind.MethodCFI }

func (o otherStack) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	if s.Index > 0 {
		return unwind.EndOfStack
	}
	arch := s.Snapshot.Arch
	out.Regs.Set(arch.PC, inF)
	out.Regs.Set(arch.SP, 0x7ffe_0000)
	out.CFA, out.HasCFA, out.Switched = 0x7ffe_0000, true, o.switched
	return unwind.Found
}

// TestSwitched: a source that says so may lead to a stack below; else such a frame is none. The code, which was asked nothing of
// such a frame, does not dispute what the source says.
func TestSwitched(t *testing.T) {
	arch := o32()
	code := rules{method: unwind.MethodCode, known: true, at: map[uint64][]stackwalk.Rule{inG: {leaf(arch, stackwalk.FromEntry)}}}
	for _, c := range []struct {
		sources []stackwalk.Source
		want    []uint64
	}{
		{[]stackwalk.Source{rules{method: unwind.MethodEHABI}, otherStack{true}, code}, []uint64{inG, inF}},
		{[]stackwalk.Source{otherStack{false}}, []uint64{inG}},
	} {
		snap := stopped(arch, synth.Stack(arch).Zero(64).Place(0x7fff_0000))
		frames, _ := walk(snap, stackwalk.Options{Sources: c.sources, CallGraph: graph{holds: sameHundred}})
		if got := pcs(frames); !slices.Equal(got, c.want) || len(got) > 1 && frames[1].Checks.Has(unwind.Disputed) {
			t.Errorf("%d sources: %#x, want %#x; %+v", len(c.sources), got, c.want, frames)
		}
	}
}
