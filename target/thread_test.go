package target

import "testing"

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
