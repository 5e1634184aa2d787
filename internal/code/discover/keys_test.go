package discover

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMerged: a list that is sorted from some place on comes out as if sorted as a whole, and so does
// one that is not.
func TestMerged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		list := make([]uint64, r.IntN(40))
		for i := range list {
			list[i] = r.Uint64N(30)
		}
		n := r.IntN(len(list) + 1)
		if r.IntN(4) > 0 {
			slices.Sort(list[n:])
		}
		want := sorted(slices.Clone(list))
		if got := merged(slices.Clone(list), n); !slices.Equal(got, want) {
			t.Fatalf("%d from number %d on: %d, want %d", list, n, got, want)
		}
	}
}
