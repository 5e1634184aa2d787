package stackwalk

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestLeaveOthersOut: walks, innermost frame first; of each function only one call can have led to the callee. A call
// that nobody can follow is then worth what a call through a pointer is. A call that comes there by a jump
// is asked for only where a frame further out stays in doubt.
func TestLeaveOthersOut(t *testing.T) {
	const (
		proven  = ordinary | unwind.TargetMatches
		unclear = ordinary | unwind.TargetUnclear
		byJump  = ordinary | unwind.TargetMatches | unwind.TargetUnclear
		hint    = unwind.Disputed
	)
	for _, walk := range []struct {
		what      string
		sole      bool
		was, want []unwind.Checks
	}{
		{"the call that is left", true, []unwind.Checks{unclear, proven}, []unwind.Checks{ordinary | unwind.SoleCall, proven}},
		{"other calls may have led there", false, []unwind.Checks{unclear, proven}, []unwind.Checks{unclear, proven}},
		{"the rule is only a hint", true, []unwind.Checks{unclear | hint, proven}, []unwind.Checks{unclear | hint, proven}},
		{"by a jump, and corroborated", true, []unwind.Checks{byJump, ordinary, proven}, []unwind.Checks{byJump, ordinary, proven}},
		{"by a jump, in front of a doubt", true, []unwind.Checks{byJump, unclear | hint, proven}, []unwind.Checks{byJump | unwind.SoleCall, unclear | hint, proven}},
		{"by a jump, where a proven frame lies between", true,
			[]unwind.Checks{byJump, proven, unclear | hint}, []unwind.Checks{byJump, proven, unclear | hint}},
	} {
		frames := []unwind.Frame{{}}
		for _, checks := range walk.was {
			frames = append(frames, unwind.Frame{Checks: checks, Trust: unwind.Certain, Method: unwind.MethodCFI})
		}
		leaveOthersOut(nil, frames, soleCalls{answer: walk.sole})
		var got []unwind.Checks
		for i := range frames[1:] {
			got = append(got, frames[1+i].Checks)
		}
		if !slices.Equal(got, walk.want) {
			t.Errorf("%s: %v, want %v", walk.what, got, walk.want)
		}
	}
}

// soleCalls is a CallGraph that has one answer for all functions.
type soleCalls struct {
	CallGraph
	answer bool
}

func (s soleCalls) SoleCall(*target.Snapshot, *unwind.Frame, *unwind.Frame) bool { return s.answer }
