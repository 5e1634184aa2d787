package score

import (
	"context"
	"testing"

	"github.com/backsight/backsight/lab/truth"
)

// recorded is the selection that is kept with the sources.
const recorded = "../../testdata/truth"

// TestRecordedTruth scores the selection: the limits of the project, on every CPU; and no backtrace is worse
// with tables than without.
func TestRecordedTruth(t *testing.T) {
	outcomes, broken, err := Run(context.Background(), Options{Root: recorded, Tiers: truth.Tiers[:]})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
	if len(outcomes) == 0 {
		t.Fatal("there is no recorded truth")
	}
	for _, o := range Worse(outcomes) {
		t.Errorf("%s %s step %d: not whole with tables, whole without", o.Case.Name, o.Tier, o.Answer.Step)
	}
	for key, r := range Group(outcomes, []string{"arch"}) {
		f := r.Figures()
		t.Logf("%s: %d captures, whole %.1f %%, wrong %.1f %%, lie %.1f %%, cfa %.1f %%", key, r.N, f[0], f[2], f[3], f[5])
		for column, limit := range map[string]float64{"whole": 99, "wrong": 0.5, "lie": 0, "cfa": 94} {
			if !r.Meets(column, limit) {
				t.Errorf("%s: %s is beyond %g %%", key, column, limit)
			}
		}
	}
}
