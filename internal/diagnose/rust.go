package diagnose

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// rustDied is the message of a panic of Rust that ended the program, "" where the thread did not end so, or the message is
// not found. The standard library keeps the message in the closure of its panic handler, a string of the heap, or of
// the program where nothing was to be formatted (library/std/src/panicking.rs, FormatStringPayload and StaticStrPayload).
func rustDied(snap *target.Snapshot, th *report.Thread) string {
	k := slices.IndexFunc(th.Frames, func(f report.Frame) bool {
		return strings.HasPrefix(f.Function, "std::panicking::") && strings.Contains(f.Function, "{closure")
	})
	for at := range variables(snap, th, k) {
		if words := counted(snap, at); words != "" {
			return "it said: panic: " + words
		}
	}
	return ""
}
