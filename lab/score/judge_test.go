package score

import (
	"testing"

	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/unwind"
)

// TestJudge: what makes a backtrace whole, wrong, short or a lie.
func TestJudge(t *testing.T) {
	cfa := truth.Hex(0x8000)
	answer := truth.Answer{ModeBit: true, Frames: []truth.Frame{{PC: 0x100, CFA: &cfa}, {PC: 0x200}, {PC: 0x300}}}
	got := func(trust unwind.Trust, pcs ...uint64) (g []Got) {
		for _, pc := range pcs {
			g = append(g, Got{PC: pc, CFA: 0x8000, Trust: trust, Method: unwind.MethodCode})
		}
		return g
	}
	for _, c := range []struct {
		name                     string
		got                      []Got
		whole, wrong, short, lie bool
	}{
		{"right", got(unwind.Certain, 0x100, 0x200, 0x300), true, false, false, false},
		{"mode bits do not count", got(unwind.Certain, 0x101, 0x201, 0x301), true, false, false, false},
		{"what is beyond main's caller does not count", got(unwind.Certain, 0x100, 0x200, 0x300, 0x999), true, false, false, false},
		{"ends early", got(unwind.Certain, 0x100, 0x200), false, false, true, false},
		{"wrong and sure", got(unwind.Certain, 0x100, 0x204, 0x300), false, true, false, true},
		{"wrong and not sure", got(unwind.Likely, 0x100, 0x204), false, true, false, false},
		{"nothing", nil, false, false, true, false},
	} {
		v := Judge(&answer, c.got)
		if v.Whole != c.whole || v.Wrong != c.wrong || v.Short != c.short || v.Lie != c.lie {
			t.Errorf("%s: %+v", c.name, v)
		}
		if len(c.got) > 0 && (v.CFAs != 1 || v.CFAOK != 1) {
			t.Errorf("%s: CFA %d of %d", c.name, v.CFAOK, v.CFAs)
		}
	}
}

// TestWorse: a capture that is whole without tables and not with them is told of, one that is not whole without
// either is not.
func TestWorse(t *testing.T) {
	c := &truth.Case{Name: "case"}
	outcome := func(tier string, step int, whole bool) Outcome {
		return Outcome{Case: c, Tier: tier, Answer: &truth.Answer{Step: step}, Verdict: Verdict{Whole: whole}}
	}
	worse := Worse([]Outcome{outcome("stripped", 1, false), outcome("stripped", 2, false), outcome("stripped", 3, true),
		outcome("naked", 1, true), outcome("naked", 2, false), outcome("naked", 3, false)})
	if len(worse) != 1 || worse[0].Answer.Step != 1 {
		t.Errorf("worse with tables: %v, want step 1", worse)
	}
}
