package compact

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Rows calls yield for the functions of each entry, in order, with the rule that holds where
// they call others, until yield returns false. What the linker did not list as functions has
// one row an entry; entries without a rule are left out.
func (Source) Rows(img *image.Image, yield func(lo, hi uint64, rule *stackwalk.Rule) bool) {
	d := decoderOf(img.Arch)
	if d == nil {
		return
	}
	var rule stackwalk.Rule
	done := uint64(0) // entries ascend, so that each function is listed once
	compactunwind.Of(img).Entries(func(e compactunwind.Entry) bool {
		for lo := max(e.Lo, done); lo < e.Hi; {
			hi := e.Hi
			if _, next, _, ok := img.Symbols.FunctionAt(lo); ok {
				hi = min(hi, next)
			}
			rule.Reset()
			if img.Segments.Executable(lo) && d(newFunction(img, &e, lo, &rule), e.Encoding) == unwind.Found && !yield(lo, hi, &rule) {
				return false
			}
			lo, done = hi, hi
		}
		return true
	})
}
