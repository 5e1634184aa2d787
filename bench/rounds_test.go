package bench_test

import (
	"flag"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/unwind"
)

// The rounds of TestRounds. .ci/instructions counts the instructions of a process with some rounds and with more.
var (
	firstRounds = flag.Int("first", 1, "rounds with images that were just opened")
	coldRounds  = flag.Int("cold", 1, "rounds with a new walker for each stack")
	warmRounds  = flag.Int("warm", 1, "rounds with one walker")
)

// TestRounds walks through all stacks as often as the flags say, and little else.
func TestRounds(t *testing.T) {
	for _, name := range libraries {
		t.Run(name, func(t *testing.T) { rounds(t, name) })
	}
}

func rounds(t *testing.T, name string) {
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var s *stacks
	var frames []unwind.Frame
	cold := func() {
		for _, snap := range s.snaps {
			frames, _ = u.Walker(snap).Walk(&snap.Threads[0], frames[:0])
		}
	}
	for range *firstRounds {
		s = recordedStacks(t, name)
		cold()
	}
	for range *coldRounds {
		cold()
	}
	one := u.Walker(s.snaps[0])
	for range *warmRounds {
		for _, snap := range s.snaps {
			one.Use(snap)
			frames, _ = one.Walk(&snap.Threads[0], frames[:0])
		}
	}
	if k := differ(frames, s.want[len(s.want)-1]); k >= 0 {
		t.Errorf("frame %d of the last stack is wrong", k)
	}
}
