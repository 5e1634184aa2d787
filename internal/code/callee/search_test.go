package callee

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestSearchOfIdleCode: instructions that change nothing of what a search looks for count, too: 16 MB of them are not gone through.
func TestSearchOfIdleCode(t *testing.T) {
	for cpu, insn := range map[string]string{"x86_64": "90 ", "i386": "90 "} {
		f := effects(t, codetest.Program{CPU: cpu, Listing: "400000: " + strings.Repeat(insn, 64<<10)})
		s := newSearch(f)
		s.from(at(0x400000), 0)
		if s.budget >= 0 || s.budget < -stepping.SkipSpan {
			t.Errorf("%s: %d steps are left", cpu, s.budget)
		}
	}
}
