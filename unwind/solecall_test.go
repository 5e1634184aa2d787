package unwind

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/target"
)

// TestLeaveOthersOut: walks, innermost frame first; of each function only one call can have led to the callee. A call
// that nobody can follow is then worth what a call through a pointer is. A call that comes there by a jump
// is asked for only where a frame further out stays in doubt.
func TestLeaveOthersOut(t *testing.T) {
	const (
		proven  = ordinary | TargetMatches
		unclear = ordinary | TargetUnclear
		byJump  = ordinary | TargetMatches | TargetUnclear
		hint    = Disputed
	)
	for _, walk := range []struct {
		what      string
		sole      bool
		was, want []Checks
	}{
		{"the call that is left", true, []Checks{unclear, proven}, []Checks{ordinary | SoleCall, proven}},
		{"other calls may have led there", false, []Checks{unclear, proven}, []Checks{unclear, proven}},
		{"the rule is only a hint", true, []Checks{unclear | hint, proven}, []Checks{unclear | hint, proven}},
		{"by a jump, and corroborated", true, []Checks{byJump, ordinary, proven}, []Checks{byJump, ordinary, proven}},
		{"by a jump, in front of a doubt", true, []Checks{byJump, unclear | hint, proven}, []Checks{byJump | SoleCall, unclear | hint, proven}},
		{"by a jump, where a proven frame lies between", true,
			[]Checks{byJump, proven, unclear | hint}, []Checks{byJump, proven, unclear | hint}},
	} {
		frames := []Frame{{}}
		for _, checks := range walk.was {
			frames = append(frames, Frame{Checks: checks, Trust: Certain, Method: MethodCFI})
		}
		leaveOthersOut(nil, frames, soleCalls{answer: walk.sole})
		var got []Checks
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

func (s soleCalls) SoleCall(*target.Snapshot, *Frame, *Frame) bool { return s.answer }
