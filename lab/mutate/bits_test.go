package mutate

import (
	"context"
	"testing"
)

// TestOneBit inverts each bit of return addresses that makes another return address. Such an address may be taken for
// the true one, which certainty presumes to be in memory; frames further in than the damage never change.
func TestOneBit(t *testing.T) {
	counts, err := Run(context.Background(), Options{Root: "../../testdata/truth", Tiers: []string{"naked"}, Every: 8, Bits: true})
	if err != nil {
		t.Fatal(err)
	}
	if c := counts[oneBit]; c == nil || c.N == 0 || c.Wrong == 0 || c.InnerLost != 0 || len(counts) != 1 {
		t.Errorf("%+v", counts[oneBit])
	}
}
