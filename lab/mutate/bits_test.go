package mutate

import (
	"context"
	"testing"
)

// TestOneBitIsNeverCertain inverts each bit of return addresses that makes another return address.
func TestOneBitIsNeverCertain(t *testing.T) {
	counts, err := Run(context.Background(), Options{Root: "../../testdata/truth", Tiers: []string{"naked"}, Every: 8, Bits: true, Bad: func(f Finding) {
		t.Errorf("%s: %s, %s %s capture %d, frame %d", f.What, f.Damage, f.Case.Name, f.Tier, f.Index, f.Frame)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c := counts[oneBit]; c == nil || c.N == 0 || c.Wrong == 0 || len(counts) != 1 {
		t.Errorf("no return address was near another one: %v", counts)
	}
}
