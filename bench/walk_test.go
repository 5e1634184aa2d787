package bench_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestStacks: every return address is the one that the tracer's shadow stack has, or, of
// stacks that were sampled, the one that libunwind and libdwfl found.
func TestStacks(t *testing.T) {
	for _, name := range programs {
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

// TestOneWalker: what the walker has cached changes nothing, and no walk allocates once
// everything was met.
func TestOneWalker(t *testing.T) {
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			snaps := load(t, name).snaps
			one := cachesWell(t, snaps)

			if n := allocations(one, snaps); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
	for _, arch := range codeArchs {
		t.Run(arch+"/code", func(t *testing.T) {
			snaps, release := naked(t, arch)
			defer release()
			cachesWell(t, snaps)
		})
	}
	for _, arch := range compactArchs {
		t.Run(arch+"/compact", func(t *testing.T) {
			snaps, release := compact(t, arch)
			defer release()
			cachesWell(t, snaps)
		})
	}
}

// TestWarm: no walk allocates once everything was met, on any processor, with unwind tables or without. Programs as Debian
// ships them are many images. The race detector (-short) has allocations of its own.
func TestWarm(t *testing.T) {
	if testing.Short() {
		t.Skip("allocations are not those of walks alone")
	}
	rounds := 0
	cases := recorded.Cases(t, "*/*")
	if shipped, err := truth.Cases(filepath.Join(recorded.Testdata(t), "../../shared/truth/debian"), ""); err == nil {
		cases = append(cases, shipped...)
	}
	for _, c := range cases {
		for _, tier := range truth.Tiers {
			t.Run(c.Name+"/"+tier, func(t *testing.T) {
				snaps := snapshotsOf(t, &c, tier)
				if len(snaps) == 0 { // the case has no such program
					return
				}
				rounds++
				u, err := backsight.NewUnwinder(backsight.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if n := allocations(u.Walker(snaps[0]), snaps); n != 0 {
					t.Errorf("%v allocations in a round of %d walks", n, len(snaps))
				}
			})
		}
	}
	if rounds < len(cases) {
		t.Errorf("%d rounds of walks through %d cases", rounds, len(cases))
	}
}

// allocations are those of a round of walks through all stacks, after some that fill
// the cache. All of the process's are counted, and on a busy machine the runtime's own fall
// among them; what walks allocate is there in each of five measurements.
func allocations(w unwind.Walker, snaps []*target.Snapshot) float64 {
	var frames []unwind.Frame
	round := func() {
		for _, snap := range snaps {
			w.Use(snap)
			frames, _ = w.Walk(&snap.Threads[0], frames[:0])
		}
	}
	round()
	round()
	least := testing.AllocsPerRun(2, round)
	for range 4 {
		least = min(least, testing.AllocsPerRun(2, round))
	}
	return least
}

// cachesWell walks all stacks with one walker, twice, and beside it with fresh ones:
// some that know what others left, and some that do not cache.
func cachesWell(t *testing.T, snaps []*target.Snapshot) unwind.Walker {
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// A walker that explains itself asks its sources at every frame.
	bare := u.WalkerOptions()
	bare.Explain = func(unwind.Attempt) {}
	one := u.Walker(snaps[0])
	var got, fresh []unwind.Frame
	for range 2 {
		for i, snap := range snaps {
			var stop, alone unwind.Stop
			one.Use(snap)
			got, stop = one.Walk(&snap.Threads[0], got[:0])
			fresh, alone = stackwalk.NewWalker(snap, bare).Walk(&snap.Threads[0], fresh[:0])
			if !slices.Equal(got, fresh) || stop != alone {
				t.Fatalf("stack %d, with cache:\n%v %v\nwithout:\n%v %v", i, got, stop, fresh, alone)
			}
			sample := sampleOf(snap)
			got, stop = one.WalkSample(&sample, got[:0])
			if len(snap.Memory.Segments()) == 1 && (!slices.Equal(got, fresh) || stop != alone) {
				t.Fatalf("stack %d, as a sample:\n%v %v\nwithout cache:\n%v %v", i, got, stop, fresh, alone)
			}
			got, stop = u.Walker(snap).Walk(&snap.Threads[0], got[:0])
			if !slices.Equal(got, fresh) || stop != alone {
				t.Fatalf("stack %d, with what others left:\n%v %v\nwithout:\n%v %v", i, got, stop, fresh, alone)
			}
		}
	}
	return one
}

// BenchmarkWalk is one walk through all stacks of a program: warm with one walker
// for all of them, cold with a fresh one for each.
func BenchmarkWalk(b *testing.B) {
	for _, name := range programs {
		b.Run(name, func(b *testing.B) { walks(b, load(b, name).snaps) })
	}
	for _, arch := range codeArchs {
		b.Run(arch+"/code", func(b *testing.B) {
			snaps, release := naked(b, arch)
			defer release()
			walks(b, snaps)
		})
		b.Run(arch+"/code/first", func(b *testing.B) { first(b, arch) })
	}
	for _, arch := range compactArchs {
		b.Run(arch+"/compact", func(b *testing.B) {
			snaps, release := compact(b, arch)
			defer release()
			walks(b, snaps)
		})
	}
}

// walks measures both.
func walks(b *testing.B, snaps []*target.Snapshot) {
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var frames []unwind.Frame
	one := u.Walker(snaps[0])
	run := func(b *testing.B, walker func(*target.Snapshot) unwind.Walker) {
		n := 0
		all := func() {
			n = 0
			for _, snap := range snaps {
				frames, _ = walker(snap).Walk(&snap.Threads[0], frames[:0])
				n += len(frames)
			}
		}
		all()
		now, release := threadTime()
		defer release()
		b.ReportAllocs()
		start := now()
		for b.Loop() {
			all()
		}
		b.ReportMetric(float64((now()-start).Nanoseconds())/float64(b.N*n), "ns/frame")
	}
	b.Run("warm", func(b *testing.B) {
		run(b, func(snap *target.Snapshot) unwind.Walker { one.Use(snap); return one })
	})
	b.Run("cold", func(b *testing.B) { run(b, u.Walker) })
	b.Run("samples", func(b *testing.B) { samples(b, one, snaps) })
}

// samples walks the stacks as a profiler has them, without a Snapshot each.
func samples(b *testing.B, w unwind.Walker, snaps []*target.Snapshot) {
	var frames []unwind.Frame
	all := make([]unwind.Sample, len(snaps))
	for i, snap := range snaps {
		all[i] = sampleOf(snap)
	}
	n := 0
	now, release := threadTime()
	defer release()
	b.ReportAllocs()
	start := now()
	for b.Loop() {
		for i := range all {
			frames, _ = w.WalkSample(&all[i], frames[:0])
			n += len(frames)
		}
	}
	b.ReportMetric(float64((now()-start).Nanoseconds())/float64(n), "ns/frame")
}

// sampleOf is what a profiler would have taken of a thread, where all memory of the
// snapshot is one stack.
func sampleOf(snap *target.Snapshot) unwind.Sample {
	stack := snap.Memory.Segments()[0]
	return unwind.Sample{Regs: snap.Threads[0].Regs, Base: stack.Addr, Stack: stack.Data}
}

// programs have stacks that load reads.
var programs = append([]string{"deep60", "deep60a64", "deepmips", "clang"}, libraries...)
