package unwind

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// TestConfirmInwards: walks, innermost frame first, and what they end as.
func TestConfirmInwards(t *testing.T) {
	const (
		proven     = ordinary | TargetMatches
		indirect   = ordinary
		unclear    = ordinary | TargetUnclear
		byJump     = ordinary | TargetMatches | TargetUnclear
		trampoline = SPMonotonic | SPAligned | SPInStack | AtTrampoline
		saved      = Executable | Interrupted
	)
	type frame struct {
		checks Checks
		was    Trust
		want   Trust
	}
	c := func(checks Checks, want Trust) frame { return frame{checks, Certain, want} }
	for _, walk := range []struct {
		what   string
		root   bool
		frames []frame
	}{
		{"calls that go where they should need nobody", false, []frame{c(proven, Certain), c(proven, Certain)}},
		{"a callback is corroborated by what called its caller", false, []frame{c(indirect, Certain), c(proven, Certain)}},
		{"two of them, one by the other", false, []frame{c(indirect, Certain), c(indirect, Certain), c(proven, Certain)}},
		{"nothing is left to corroborate: the stack was cut", false, []frame{c(proven, Certain), c(indirect, Likely)}},
		{"what is not certain makes what follows uncertain", false,
			[]frame{c(indirect, Likely), c(unclear, Likely), c(proven, Likely), {proven, Likely, Likely}}},
		{"a direct call whose way is not clear is never certain: it may be another one of that function", false,
			[]frame{c(unclear, Likely), c(proven, Likely)}},
		{"and says nothing for others", false, []frame{c(indirect, Likely), c(unclear, Likely), c(proven, Likely)}},
		{"a tail call does", false, []frame{c(indirect, Certain), c(byJump, Certain), c(proven, Certain)}},
		{"a frame that is likely at best does not", false, []frame{c(indirect, Likely), {indirect, Likely, Likely}, {proven, Likely, Likely}}},
		{"a signal: the interrupted frame's caller corroborates all three", false,
			[]frame{c(indirect, Certain), c(trampoline, Certain), c(saved, Certain), c(proven, Certain)}},
		{"a signal frame that leads nowhere", false, []frame{c(proven, Certain), c(trampoline, Likely), c(saved, Likely)}},
		{"a thread: clone calls start_thread calls its function", true, []frame{c(proven, Certain), c(indirect, Certain), c(indirect, Certain)}},
		{"an interrupted frame said to be the outermost one", true, []frame{c(proven, Certain), c(saved, Likely)}},
		{"the return address was overwritten by one of a call of the same function: from there only a search leads on", false,
			[]frame{c(proven, Certain), c(proven, Likely), {ordinary, Guess, Guess}}},
	} {
		frames := []Frame{{Trust: Certain}}
		want := []Trust{Certain}
		for _, f := range walk.frames {
			frames = append(frames, Frame{Checks: f.checks, Trust: f.was, Method: MethodCFI, Exact: f.checks&Interrupted != 0})
			want = append(want, f.want)
		}
		confirmInwards(frames, 1, walk.root)
		var got []Trust
		for i := range frames {
			got = append(got, frames[i].Trust)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", walk.what, got, want)
		}
	}
}

// noSyscalls is a CallGraph that knows no system call.
type noSyscalls struct{ CallGraph }

func (noSyscalls) BehindSyscall(*target.Module, uint64, cpu.Mode) bool { return false }

// TestDoubtLostBits: what is certain of a walk, frame by frame from the innermost one, if one bit
// or word of it may have been lost.
func TestDoubtLostBits(t *testing.T) {
	const (
		proven       = ordinary | TargetMatches
		corroborated = ordinary | Corroborated
		interrupted  = Executable | Interrupted | Corroborated
		ambiguous    = proven | OneBitAway
	)
	for _, walk := range []struct {
		what   string
		frames []Checks
		want   []Trust
	}{
		{"only the interrupted frame is in doubt where its caller is proven",
			[]Checks{interrupted, proven, corroborated}, []Trust{Likely, Certain, Certain}},
		{"else there may be one frame too many, and all further out is shifted",
			[]Checks{interrupted, corroborated, proven}, []Trust{Likely, Likely, Likely}},
		{"another call of the same function is one bit away: nothing changes for its callers",
			[]Checks{proven, ambiguous, proven}, []Trust{Certain, Likely, Certain}},
	} {
		var frames []Frame
		for _, c := range walk.frames {
			frames = append(frames, Frame{Checks: c, Trust: Certain, Exact: c&Interrupted != 0})
		}
		doubtLostBits(frames, noSyscalls{})
		for i := range frames {
			if frames[i].Trust != walk.want[i] {
				t.Errorf("%s: frame %d is %v, want %v", walk.what, i, frames[i].Trust, walk.want[i])
			}
		}
	}
}
