package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// interruptions is a source of signals' frames: the n-th interrupted code at pc(n) with SP at sp(n).
type interruptions struct {
	arch   *cpu.Arch
	pc, sp func(n uint64) uint64
}

func (interruptions) Method() unwind.Method { return unwind.MethodSigframe }

func (i interruptions) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	n := uint64(s.Index) + 1
	regs := synth.Regs(i.arch, map[string]uint64{"pc": i.pc(n), "sp": i.sp(n)})
	*out = stackwalk.Caller{Regs: *regs, Exact: true, CFA: i.sp(n), HasCFA: true}
	return unwind.Found
}

// TestCircles: signals' frames that lead round, through however many places, end as a loop in the third round at the latest;
// and so do frames that have nothing on the stack and lead to themselves, which tables may say.
func TestCircles(t *testing.T) {
	arch := o32()
	memory := synth.Stack(arch).Zero(64 << 10).Place(0x7fff_0000)
	snap := synth.Capture(arch, []*target.Module{program(arch)}, memory)
	snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": memory.Base, "ra": inF, "s0": inF})}}
	level := tables(arch, unwind.MethodCFI, 0)
	s0, _ := arch.RegByName("s0")
	level.at[inF] = []stackwalk.Rule{framed(arch, 0, stackwalk.RegRule{Kind: stackwalk.SameValue, Reg: cpu.NoReg, Base: s0}, 0)}
	round := func(n uint64) interruptions {
		return interruptions{arch, func(k uint64) uint64 { return fEntry + 4*(k%n%32) }, func(k uint64) uint64 { return memory.Base + 8*(k%n) }}
	}
	for name, c := range map[string]struct {
		source stackwalk.Source
		most   int
	}{"of one": {round(1), 4}, "of two": {round(2), 8}, "of a hundred": {round(100), 400}, "nothing on the stack": {level, 8}} {
		for _, explain := range []func(unwind.Attempt){nil, func(unwind.Attempt) {}} {
			opt := stackwalk.Options{Sources: []stackwalk.Source{c.source}, MaxFrames: 1 << 20, Explain: explain, Shared: new(stackwalk.Shared)}
			w := stackwalk.NewWalker(snap, opt)
			for range 2 { // the second walk finds in caches what can be kept
				if frames, stop := w.Walk(&snap.Threads[0], nil); stop.Reason != unwind.StopLoop || len(frames) > c.most {
					t.Errorf("%s: %d frames, stop %v", name, len(frames), stop.Reason)
				}
			}
		}
	}
}

// TestInterruptions: interrupted frames that lie over one another are no more than the stack has room for; those of signals
// that a handler caught while it handled one are all there.
func TestInterruptions(t *testing.T) {
	arch := o32()
	for size, most := range map[int]int{8 << 10: 64 + 32 + 1, 1 << 20: 64 + 4096 + 1} {
		memory := synth.Stack(arch).Zero(size).Place(0x7000_0000)
		snap := synth.Capture(arch, []*target.Module{program(arch)}, memory)
		snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": memory.Base})}}
		for step, want := range map[uint64]unwind.StopReason{8: unwind.StopCost, 800: unwind.StopNoRule} {
			source := interruptions{arch, func(uint64) uint64 { return fEntry }, func(n uint64) uint64 { return memory.Base + step*n }}
			frames, stop := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{ending{source, uint64(size)/step - 1}}, MaxFrames: 1 << 20})
			if stop.Reason != want || len(frames) > most {
				t.Errorf("%d bytes, one in %d: %d frames, stop %v", size, step, len(frames), stop.Reason)
			}
		}
	}
}

// ending is interruptions up to a frame.
type ending struct {
	interruptions
	last uint64
}

func (e ending) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	if uint64(s.Index) == e.last {
		return unwind.NotCovered
	}
	return e.interruptions.Step(s, out)
}
