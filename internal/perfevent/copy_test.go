//go:build linux

package perfevent

import (
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
