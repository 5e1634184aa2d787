package render

import (
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// A recursion is folded where its cycle has at most maxCycle frames, and at least
// minFolded frames of it go away.
const (
	maxCycle  = 16
	minFolded = 20
)

// cycle is a run of frames that repeats: frames [from, from+period) come times times in
// all.
type cycle struct{ from, period, times int }

func (c *cycle) frames() int { return c.period * c.times }

// cycleAt is the cycle that begins at the frame with number i and covers most, the shortest of those;
// false where none is worth folding.
func cycleAt(th *report.Thread, i int) (best cycle, ok bool) {
	count := th.Count()
	for p := 1; p <= maxCycle && i+p < count; p++ {
		n := p
		for i+n < count && alike(typeset.Numbered(th, i+n), typeset.Numbered(th, i+n-p)) {
			n++
		}
		if c := (cycle{i, p, n / p}); c.frames() > best.frames() {
			best = c
		}
	}
	return best, best.frames()-best.period >= minFolded
}

// alike tells whether two frames read the same but for their place on the stack.
func alike(a, b *report.Frame) bool {
	return a.PC == b.PC && a.Trust == b.Trust && a.Method == b.Method && a.Function == b.Function && a.Entry == b.Entry
}
