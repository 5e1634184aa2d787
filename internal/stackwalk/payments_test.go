package stackwalk

import "testing"

// TestPayments: a place is paid for once in a walk, however many others lie between two frames there.
func TestPayments(t *testing.T) {
	var p payments
	for range 2 { // walks
		for turn := range 3 {
			for i := range uint64(5 * somePlaces) {
				if at := placeOf(0x400000+4*i, 0, false); p.first(at) != (turn == 0) {
					t.Fatalf("place %d, turn %d", i, turn)
				}
			}
		}
		p.reset()
	}
}
