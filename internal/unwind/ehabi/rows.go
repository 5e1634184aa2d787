package ehabi

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Rows calls yield for every entry that can be unwound: the rule for frames at calls
// from lo up to hi, in order of address, until it returns false. rule is nil where the
// bytecodes say what a Rule cannot; it is valid during the call only.
func (s Source) Rows(img *image.Image, yield func(lo, hi uint64, rule *stackwalk.Rule) bool) {
	var rule stackwalk.Rule
	q := stackwalk.Query{Image: img, Arch: img.Arch}
	s.FunctionRanges(img, func(lo, hi uint64) bool {
		q.PC = lo
		rule.Reset()
		if s.Rule(&q, &rule) != unwind.Found {
			return yield(lo, hi, nil)
		}
		rule.Start = lo
		return yield(lo, hi, &rule)
	})
}
