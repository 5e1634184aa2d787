package mutate

import (
	"context"
	"testing"

	"github.com/backsight/backsight/lab/truth"
)

// TestNothingWrongIsCertain damages a sample of the recorded truth.
func TestNothingWrongIsCertain(t *testing.T) {
	counts, err := Run(context.Background(), Options{Root: "../../testdata/truth", Tiers: []string{"stripped", "naked"}, Every: 4, Seed: 1, Bad: func(f Finding) {
		t.Logf("%s: %s, %s %s capture %d, frame %d", f.What, f.Damage, f.Case.Name, f.Tier, f.Index, f.Frame)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(counts) < len(Damages()) {
		t.Errorf("%d kinds of damage were done, of %d", len(counts), len(Damages()))
	}
	for name, c := range counts {
		if c.Lies > 0 {
			t.Errorf("%s: %d of %d captures have a wrong frame that is certain", name, c.Lies, c.N)
		}
		if c.InnerLost > 0 {
			t.Errorf("%s: %d captures lost frames inner to the damage", name, c.InnerLost)
		}
	}
}

// TestJumpedTo: a frame that a jump made looks like one that a call made, so that the return address of the call
// is no damage that can be seen there.
func TestJumpedTo(t *testing.T) {
	const (
		evaltree, evalsubshell, main  = 0x4a408, 0x4c264, 0xdd00
		inEvaltree, evaltreeEnd, last = 0x4a54b, 0x4a5ba, 0xdd93
	)
	called := truth.Frame{Entry: evaltree, PC: evaltreeEnd}
	jumped := truth.Frame{Entry: evalsubshell, PC: evaltreeEnd}
	direct := truth.Frame{Entry: evaltree, PC: inEvaltree}
	outermost := truth.Frame{Entry: main, PC: last}
	a := seen([]truth.Answer{{Frames: []truth.Frame{jumped, direct, outermost}}, {Frames: []truth.Frame{called, outermost}}})
	for _, c := range []struct {
		name string
		f, g truth.Frame
		want bool
	}{
		{"entered at evaltree, at the PC of one that jumped there", direct, jumped, true},
		{"evalsubshell was never seen at evaltree's other call", jumped, direct, false},
		{"main has nothing in common with them", outermost, jumped, false},
	} {
		if got := a.both(&c.f, &c.g); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
