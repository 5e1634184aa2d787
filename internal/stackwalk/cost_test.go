package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// costly is a source whose answers cost a lot each.
type costly struct {
	rules
	each uint64
}

func (c costly) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	q.Cost += c.each
	return c.rules.Rule(q, out)
}

// TestCostOfKnownFrames: f calls itself a hundred times over. f's place is paid for once, whatever f's frames cost to find, and
// whether this walker or another one has found them before.
func TestCostOfKnownFrames(t *testing.T) {
	const frames = 100
	arch := o32()
	m := program(arch)
	stack := synth.Stack(arch).Zero(28)
	for range frames {
		stack = stack.Word(inF).Zero(28)
	}
	memory := stack.Place(0x7fff_0000)
	snap := synth.Capture(arch, []*target.Module{m}, memory)
	snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": memory.Base, "ra": inF})}}
	for each, whole := range map[uint64]bool{0: true, 1_000: true, 1_000_000: true, stackwalk.MaxCost: false} {
		source := costly{tables(arch, unwind.MethodCode, stackwalk.FromEntry|stackwalk.Agreed), each}
		shared := new(stackwalk.Shared)
		opt := stackwalk.Options{Sources: []stackwalk.Source{source}, CallGraph: graph{holds: func(uint64, uint64) stackwalk.Answer { return stackwalk.Yes }}, Shared: shared}
		first, stop := walk(snap, opt)
		if got := len(first) > frames; got != whole {
			t.Errorf("%d each: %d frames, stop %v", each, len(first), stop)
		}
		w := stackwalk.NewWalker(snap, opt)
		for range 3 {
			if again, stopAgain := w.Walk(&snap.Threads[0], nil); !slices.Equal(again, first) || stopAgain != stop {
				t.Errorf("%d each: %d frames, then %d; stop %v, then %v", each, len(first), len(again), stop, stopAgain)
			}
		}
		opt.Explain, opt.Shared = func(unwind.Attempt) {}, nil
		if slow, stopSlow := walk(snap, opt); len(slow) != len(first) || stopSlow != stop {
			t.Errorf("%d each: %d frames, without caches %d; stop %v and %v", each, len(first), len(slow), stop, stopSlow)
		}
	}
}
