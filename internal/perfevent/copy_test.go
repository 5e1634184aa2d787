//go:build linux

package perfevent

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestInterval: a buffer is emptied before it is full, which at 99 samples of 16 kB a second takes 313 ms, but a few times a second at
// least, and not all the time.
func TestInterval(t *testing.T) {
	const size = 512 << 10
	for _, c := range []struct {
		opt       Options
		low, high time.Duration
	}{
		{Options{Frequency: 99, Stack: 16 << 10}, 140 * time.Millisecond, 160 * time.Millisecond},
		{Options{Frequency: 1000, Stack: 16 << 10}, 14 * time.Millisecond, 16 * time.Millisecond},
		{Options{Frequency: 99, Stack: 8}, 250 * time.Millisecond, 250 * time.Millisecond},
		{Options{Frequency: 1 << 20, Stack: MaxStack}, time.Millisecond, time.Millisecond},
	} {
		if d := c.opt.interval(size); d < c.low || d > c.high {
			t.Errorf("%d a second of %d bytes: %v", c.opt.Frequency, c.opt.Stack, d)
		}
	}
}

// TestProcessors: what runs on processors that this process may not run on is recorded, too, and none is that is not there.
func TestProcessors(t *testing.T) {
	for list, want := range map[string][]int{"0-2,5\n": {0, 1, 2, 5}, "0": {0}} {
		if got := processors(list); !slices.Equal(got, want) {
			t.Errorf("%q: %v", list, got)
		}
	}
	for _, list := range []string{"", "x", "0-99999", "0,"} {
		if got := processors(list); len(got) != runtime.NumCPU() {
			t.Errorf("%q: %v", list, got)
		}
	}
}
