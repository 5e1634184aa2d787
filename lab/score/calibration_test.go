package score

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/unwind"
)

// TestCalibration: frame 0 is no finding, a frame counts for the trust that it was
// given, and behind the first wrong frame nothing counts.
func TestCalibration(t *testing.T) {
	answer := truth.Answer{Kind: "body", Frames: []truth.Frame{{PC: 0x100}, {PC: 0x200}, {PC: 0x300}, {PC: 0x400}}}
	got := []Got{
		{PC: 0x100, Trust: unwind.Certain},
		{PC: 0x200, Trust: unwind.Certain},
		{PC: 0x300, Trust: unwind.Likely},
		{PC: 0x404, Trust: unwind.Guess},
		{PC: 0x500, Trust: unwind.Certain},
	}
	outcome := Outcome{Case: &truth.Case{Arch: "mips"}, Tier: "naked", Answer: &answer, Verdict: Judge(&answer, got)}
	var b strings.Builder
	Calibration(&b, []Outcome{outcome, outcome}, []string{"arch"})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	const want = "| naked | mips | 4 | 50.00 | 50.00 | 0.00 | 100.00 | 0 | 100.00 | 0 | 0.00 | 2 |"
	if lines[len(lines)-1] != want {
		t.Errorf("got  %s\nwant %s", lines[len(lines)-1], want)
	}
}
