package unwind

import "testing"

// TestNames: every value has a word of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	name := func(s string) {
		if s == "?" || s == "" || seen[s] {
			t.Errorf("name %q", s)
		}
		seen[s] = true
	}
	for m := MethodContext; m < methodCount; m++ {
		name(m.String())
	}
	for v := Found; v < verdictCount; v++ {
		name(v.String())
	}
	for r := StopRoot; r < stopCount; r++ {
		name(r.String())
	}
	for tr := Guess; tr <= Certain; tr++ {
		name(tr.String())
	}
	for _, n := range (^Checks(0)).Names() {
		name(n)
	}
	if methodCount.String() != "?" || verdictCount.String() != "?" || stopCount.String() != "?" {
		t.Error("values beyond the last have names")
	}
}
