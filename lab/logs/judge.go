package logs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// frame is a frame as far as a log's damage matters: its function, "" where nobody names that, and its place, 0 where only
// the name is known.
type frame struct {
	name  string
	pc    uint64
	trust unwind.Trust
}

// is tells whether a frame may be another: where one of them has no name, by its place. Where the kernel was loaded is
// known of some damaged logs only.
func (f *frame) is(o *frame) bool {
	return f.name == o.name && f.name != "" || f.pc == o.pc && (f.name == "" || o.name == "")
}

func (f *frame) String() string {
	if f.name == "" {
		return fmt.Sprintf("%#x", f.pc)
	}
	return f.name
}

// chainOf are the frames of a thread.
func chainOf(t *report.Thread) (chain []frame) {
	for i := range t.Frames {
		f := &t.Frames[i]
		chain = append(chain, frame{f.Function, f.PC, f.Trust})
	}
	return chain
}

// fault is a frame above a guess that is wrong, or behind which frames are missing.
type fault struct {
	Frame   int
	Name    string
	Missing string // the frame of the undamaged log that should stand before; "": the log has no such frame
	Certain bool
}

// faults compares a chain with one of the undamaged log. A recursion of which lines are lost is shorter, but each of its frames
// called the next: that frames stand side by side somewhere in the undamaged log is enough.
func faults(got, want []frame) (list []fault) {
	at, known := 0, false // the place in want behind the last frame that was found there, and whether that was no guess
	for i, f := range got {
		k := slices.IndexFunc(want[at:], func(w frame) bool { return w.is(&f) })
		sure := f.trust != unwind.Guess
		switch {
		case k < 0 && sure:
			list = append(list, fault{Frame: i, Name: f.String(), Certain: f.trust == unwind.Certain})
		case k > 0 && sure && known && !adjacent(want, &got[i-1], &f):
			list = append(list, fault{Frame: i, Name: f.String(), Missing: want[at].String(), Certain: f.trust == unwind.Certain})
		}
		if known = k >= 0 && sure; k >= 0 {
			at += k + 1
		}
	}
	return list
}

// adjacent tells whether a frame stands behind another somewhere in a chain.
func adjacent(chain []frame, before, f *frame) bool {
	for i := 1; i < len(chain); i++ {
		if chain[i-1].is(before) && chain[i].is(f) {
			return true
		}
	}
	return false
}

// best are the faults of a chain by that of the undamaged log's chains which speaks for it most.
func best(got []frame, chains [][]frame) []fault {
	var all [][]fault
	for _, want := range chains {
		all = append(all, faults(got, want))
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b []fault) int { return cmp.Compare(len(a), len(b)) })
}
