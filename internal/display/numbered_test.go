package display

import "testing"

// TestNumbered: equal values have one number, the numbers are in the order in which the values came, and stay while more come.
func TestNumbered(t *testing.T) {
	var d numbered[call]
	const most = 5000
	for range 2 {
		for i := range uint32(most) {
			if n := d.number(call{i / 3, i}); n != i {
				t.Fatalf("call %d has number %d", i, n)
			}
		}
	}
	if len(d.list) != most || len(d.places) != 1<<14 {
		t.Errorf("%d values have %d places", len(d.list), len(d.places))
	}
}
