package render

import (
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// legend says what the marks mean that a report's frames and ends have, "" where they have none.
func legend(r *report.Report) string {
	var trusts, stops, methods uint
	for i := range r.Threads {
		th := &r.Threads[i]
		for k := range th.Frames {
			f := &th.Frames[k]
			if tag, _ := doubt(f); tag != "" {
				methods |= 1 << f.Method
				trusts |= 1 << f.Trust
			}
		}
		stops |= 1 << th.Stop.Reason
	}
	var said []string
	for _, m := range unwind.Methods() {
		if methods>>m&1 != 0 {
			said = append(said, "["+m.String()+"] "+m.Means())
		}
	}
	if trusts>>unwind.Likely&1 != 0 {
		said = append(said, "likely: "+typeset.MeansLikely)
	}
	if trusts>>unwind.Guess&1 != 0 {
		said = append(said, "? "+typeset.MeansGuess)
	}
	for _, r := range unwind.StopReasons() {
		if r != unwind.StopRoot && stops>>r&1 != 0 {
			said = append(said, "stop "+r.String()+": "+r.Means())
		}
	}
	return strings.Join(said, ". ")
}
