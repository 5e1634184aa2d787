package device

import (
	"strings"
	"testing"
)

// TestJudgeMetal: chains beside shadow stacks. Functions begin at 100, 200, 300; the shadow stack has those at 200
// and 100, which return to 150 and 350.
func TestJudgeMetal(t *testing.T) {
	s := starts{0x100, 0x200, 0x300, 0x400}
	for chain, want := range map[string]Way{
		"210 150 350":         {N: 1, Whole: 1}, // in the last function
		"404 220 150 350":     {N: 1, Whole: 1}, // in one that is not instrumented
		"404 404 220 150 350": {N: 1, Whole: 1},
		"210 150 350 360":     {N: 1, Whole: 1}, // and what has started the work
		"210 150":             {N: 1},
		"404":                 {N: 1},
		"210 350":             {N: 1, Wrong: 1},
		"210 150 380":         {N: 1, Wrong: 1},
		"404 110 150 350":     {N: 1, Wrong: 1}, // into another function than the last
		"210 150 350 360 370": {N: 1, Wrong: 1},
	} {
		if got, err := s.judge(strings.NewReader(chain + " : 150 200 350 100\n")); err != nil || got.N != want.N || got.Whole != want.Whole || got.Wrong != want.Wrong {
			t.Errorf("%s: %+v, %v; want %+v", chain, got, err, want)
		}
	}
	if w, err := s.judge(strings.NewReader("300 : \n")); err != nil || w.N != 0 {
		t.Errorf("outside of the work: %+v, %v", w, err)
	}
	if _, err := s.judge(strings.NewReader("fault\n")); err == nil {
		t.Error("what is no sample is one")
	}
}

// TestMetal: within a program without an operating system, at whatever instruction a timer interrupts it, the
// reader's chain is that of the shadow stack.
func TestMetal(t *testing.T) {
	for _, b := range Boards() {
		t.Run(b.Name, func(t *testing.T) {
			if err := b.Missing(); err != nil {
				t.Skip(err)
			}
			w, err := Metal(t.Context(), &b, "../../device", t.TempDir(), "-O2")
			if err != nil {
				t.Fatal(err)
			}
			if w.N < 350 || w.Whole < w.N || w.Wrong > 0 {
				t.Errorf("%d walks, %d whole, %d wrong", w.N, w.Whole, w.Wrong)
			}
		})
	}
}
