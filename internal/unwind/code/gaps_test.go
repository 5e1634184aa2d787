package code

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestGapWithoutEnd: linkers put constants behind the code into the executable segment, where
// they are a function that has no end within reach: no other is looked for behind that one.
// Sixty-four of them were the cost of a whole walk (libstdc++ of mips64el, whose .rodata
// follows .fini).
func TestGapWithoutEnd(t *testing.T) {
	const constants, last = 300_000, 0x1008 + 4*(300_000-2)
	img := codetest.Program{CPU: "mips o32 big", Listing: `
		1000 <f>:
		1000: 03e00008 00000000  jr ra; nop
		1008:` + strings.Repeat(" 14800001 24420001", constants/2)}.Image(t) // bnez a0,.+8; addiu v0,v0,1
	p := New(nil).of(img)
	at, ok := rules.PointOf(p.Code, &stackwalk.Query{Image: img, PC: last, Exact: true})
	if !ok {
		t.Fatal("no code")
	}
	s := &search{prog: p, at: at, most: 64 * maxSteps}
	s.fromGaps(0x1000, 0, last)
	if len(s.tried) != 1 || !s.tried[0].fn.BrokenOff {
		t.Errorf("%d functions were tried, want one whose analysis was broken off", len(s.tried))
	}
}
