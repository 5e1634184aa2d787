package target

import (
	"slices"
	"testing"
)

// TestOf: a thread with memory of its own is walked in that, and shares all else.
func TestOf(t *testing.T) {
	shared, own := new(Memory), new(Memory)
	s := &Snapshot{OS: "Linux", Memory: shared}
	if got := s.Of(&Thread{}); got != s {
		t.Error("a thread without memory of its own does not see the snapshot itself")
	}
	got := s.Of(&Thread{Memory: own})
	if got.Memory != own || got.OS != "Linux" || s.Memory != shared {
		t.Errorf("a thread with memory of its own sees %+v; the snapshot is %+v", got, s)
	}
}

// TestWords: whole words from the beginning on, to the last of 2⁶⁴ addresses and not around them.
func TestWords(t *testing.T) {
	const top = ^uint64(0)
	for _, c := range []struct {
		r    Range
		want []uint64
	}{
		{Range{0x1002, 0x1010}, []uint64{0x1002, 0x1006, 0x100a}},
		{RangeOf(top-10, 100), []uint64{top - 10, top - 6}},
		{Range{top - 3, top}, nil},
		{Range{8, 4}, nil},
	} {
		if got := slices.Collect(c.r.Words(4)); !slices.Equal(got, c.want) {
			t.Errorf("%#x: %#x, want %#x", c.r, got, c.want)
		}
	}
}
