package bench_test

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/unwind"
)

// TestStacks: every return address is the one that libunwind and libdwfl found,
// with one walker for all stacks and with a fresh one for each.
func TestStacks(t *testing.T) {
	for _, name := range []string{"deep60", "deep60a64", "clang"} {
		t.Run(name, func(t *testing.T) {
			s := load(t, name)
			u, err := backsight.NewUnwinder(backsight.Options{})
			if err != nil {
				t.Fatal(err)
			}
			right := 0
			for i, snap := range s.snaps {
				frames, stop := u.Walker(snap).Walk(&snap.Threads[0], nil)
				if k := differ(frames, s.want[i]); k < 0 {
					right++
				} else if i-right < 5 {
					t.Logf("stack %d: frame %d of %d is wrong, %d frames found, %v", i, k, len(s.want[i]), len(frames), stop)
				}
			}
			if right < len(s.snaps) {
				t.Errorf("%d of %d stacks are right", right, len(s.snaps))
			}
		})
	}
}

// differ returns the first frame that is not as expected, -1 if all are.
func differ(frames []unwind.Frame, want []uint64) int {
	for i, pc := range want {
		if i >= len(frames) || frames[i].PC != pc {
			return i
		}
	}
	if len(frames) > len(want) {
		return len(want)
	}
	return -1
}
