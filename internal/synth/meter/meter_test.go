package meter_test

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/meter"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

// TestAllocations: what is out of proportion is found, what is in proportion is not.
func TestAllocations(t *testing.T) {
	var kept [][]byte
	for size, want := range map[int]bool{1 << 20: false, meter.Floor + 1<<20: true} {
		r := &recorder{TB: t}
		meter.Allocations(r, 1, func() { kept = append(kept, make([]byte, size)) })
		if r.failed != want {
			t.Errorf("%d bytes for one: failed %v", size, r.failed)
		}
	}
	if len(kept) != 2 {
		t.Error("nothing was allocated")
	}
}
