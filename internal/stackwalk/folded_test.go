package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestWalkFolds: f calls itself five thousand times over. The list has a turn, the frames that the list stands for are those
// of a walk that folds nothing, up to the user's limit, with caches and without.
func TestWalkFolds(t *testing.T) {
	arch := o32()
	stack := synth.Stack(arch).Zero(28)
	for range 5000 {
		stack = stack.Word(inF).Zero(28)
	}
	memory := stack.Word(inMain).Zero(64).Place(0x7fff_0000)
	snap := synth.Capture(arch, []*target.Module{program(arch)}, memory)
	snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": memory.Base, "ra": inF})}}
	for _, most := range []int{1000, 3000, 100_000} {
		for _, explain := range []func(unwind.Attempt){nil, func(unwind.Attempt) {}} {
			opt := stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, MaxFrames: most, Explain: explain}
			all, end := walk(snap, opt)
			opt.Fold = true
			w := stackwalk.NewWalker(snap, opt)
			for range 2 { // the second walk finds all rules in caches
				list, stop := w.Walk(&snap.Threads[0], nil)
				repeats, got := w.Repeats(), []unwind.Frame(nil)
				for n := range repeats.Count(len(list)) {
					i, further := repeats.Index(n)
					f := list[i]
					f.CFA += further
					got = append(got, f)
				}
				if stop != end || !slices.Equal(got, all) {
					t.Errorf("at most %d: %d frames stand for %d, stop %v; want %d, %v", most, len(list), len(got), stop, len(all), end)
				}
				if len(all) > 1024 && len(list) > 1024 {
					t.Errorf("at most %d: %d frames listed", most, len(list))
				}
			}
		}
	}
}
