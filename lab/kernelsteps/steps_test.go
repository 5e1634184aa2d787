package kernelsteps

import (
	"testing"

	"github.com/backsight/backsight/unwind"
)

// TestJudge: a backtrace is whole with the callers of the entry, and wrong with another one that is
// no guess; one that ends early is neither.
func TestJudge(t *testing.T) {
	chain := func(trust unwind.Trust, pcs ...uint64) (frames []unwind.Frame) {
		for _, pc := range pcs {
			frames = append(frames, unwind.Frame{PC: pc, Trust: trust})
		}
		return frames
	}
	callers := chain(unwind.Certain, 1, 10, 20)
	for _, c := range []struct {
		what   string
		frames []unwind.Frame
		want   Tally
	}{
		{"whole", chain(unwind.Likely, 5, 10, 20), Tally{Steps: 1, Whole: 1}},
		{"cut", chain(unwind.Likely, 5, 10), Tally{Steps: 1, First: 5}},
		{"guessed", chain(unwind.Guess, 5, 11, 20), Tally{Steps: 1, First: 5}},
		{"wrong", chain(unwind.Likely, 5, 10, 21), Tally{Steps: 1, Wrong: 1, First: 5}},
		{"a lie", chain(unwind.Certain, 5, 20), Tally{Steps: 1, Wrong: 1, Lies: 1, First: 5}},
	} {
		var got Tally
		if got.judge(callers, c.frames); got != c.want {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
}
