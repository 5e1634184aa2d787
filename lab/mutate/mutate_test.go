package mutate

import (
	"context"
	"testing"
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
