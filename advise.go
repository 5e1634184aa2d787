package backsight

import (
	"github.com/backsight/backsight/internal/advice"
	"github.com/backsight/backsight/report"
)

// Advise says what the capture of a report lacks for whole chains, and how the writer of such captures gives that. format
// is the name of the capture's format (input.FormatOf), "" for none.
func Advise(r *report.Report, format string) {
	if r.Snapshot != nil {
		r.Advice = advice.Of(r, format)
	}
}
