package bench_test

import (
	"testing"

	"github.com/backsight/backsight/unwind"
)

// deepMacOS are two deep stacks of one program for macOS: whose functions are in compact unwind,
// and in DWARF that compact unwind refers to.
var deepMacOS = []struct {
	name, image, core string
	method            unwind.Method
}{
	{"compact", "../testdata/macos-deep/compact", "../testdata/macos-deep/core.gz", unwind.MethodCompact},
	{"dwarf", "../testdata/macos-deep/dwarf", "../testdata/macos-deep/dwarf.gz", unwind.MethodCFI},
}

// TestDeepMacOS: the stacks are what the benchmark is of, deep and found by one method; walks
// through them do not allocate once everything was met.
func TestDeepMacOS(t *testing.T) {
	for _, d := range deepMacOS {
		snaps, release := captured(t, d.image, d.core)
		one := cachesWell(t, snaps)
		frames, stop := one.Walk(&snaps[0].Threads[0], nil)
		by := 0
		for i := range frames {
			if frames[i].Method == d.method {
				by++
			}
		}
		if len(frames) < 60 || by < len(frames)-2 || stop.Reason != unwind.StopRoot {
			t.Errorf("%s: %d of %d frames, %v", d.name, by, len(frames), stop)
		}
		if n := allocations(one, snaps); n != 0 {
			t.Errorf("%s: %v allocations", d.name, n)
		}
		release()
	}
}

// BenchmarkDeepMacOS compares them.
func BenchmarkDeepMacOS(b *testing.B) {
	for _, d := range deepMacOS {
		b.Run(d.name, func(b *testing.B) {
			snaps, release := captured(b, d.image, d.core)
			defer release()
			walks(b, snaps)
		})
	}
}
