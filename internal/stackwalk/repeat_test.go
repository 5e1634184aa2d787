package stackwalk

import (
	"github.com/backsight/backsight/unwind"
	"math/rand/v2"
	"slices"
	"testing"
)

// expanded are the frames that a folded list stands for.
func expanded(frames []unwind.Frame, r unwind.Repeats) (all []unwind.Frame) {
	for n := range r.Count(len(frames)) {
		i, further := r.Index(n)
		f := frames[i]
		if f.CFA += further; further == 0 && r.Number(i) != n {
			panic("a frame of the list has another number")
		}
		all = append(all, f)
	}
	return all
}

// TestFold: whatever frames a walk finds, and however many at a time, those that a folded list stands for are the same.
func TestFold(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		var all []unwind.Frame
		cfa := uint64(1 << 20)
		for len(all) < 4000 {
			turn, times := 1+random.IntN(20), 1
			if random.IntN(2) == 0 {
				times = 1 + random.IntN(2000/turn)
			}
			for k := range turn * times {
				cfa += 16 + 8*uint64(k%turn%3)
				all = append(all, unwind.Frame{PC: uint64(k%turn + 100*turn), CFA: cfa, HasCFA: true, Exact: random.IntN(1000) == 0})
			}
		}
		all = append(all, unwind.Frame{PC: 1})
		var f folding
		var list []unwind.Frame
		for i := range all {
			if list = append(list, all[i]); random.IntN(300) == 0 || i+1 == len(all) {
				list = f.fold(list)
			}
		}
		if got := expanded(list, f.repeats); !slices.Equal(got, all) {
			t.Fatalf("seed %d: %d frames, folded to %d, stand for %d", seed, len(all), len(list), len(got))
		}
	}
}
