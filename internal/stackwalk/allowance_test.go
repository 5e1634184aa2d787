package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// recursing is a capture of threads that all run where f calls itself a hundred times over:
// on one stack, which no program's threads do.
func recursing(threads int) *target.Snapshot {
	arch := o32()
	stack := synth.Stack(arch).Zero(28)
	for range 100 {
		stack = stack.Word(inF).Zero(28)
	}
	memory := stack.Place(0x7fff_0000)
	snap := synth.Capture(arch, []*target.Module{program(arch)}, memory)
	for i := range threads {
		snap.Threads = append(snap.Threads, target.Thread{ID: i + 1,
			Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": memory.Base, "ra": inF})})
	}
	return snap
}

// TestFramesOfSharedStack: threads with one stack have no more frames together than it has
// words, but for a few each.
func TestFramesOfSharedStack(t *testing.T) {
	for threads, want := range map[int]int{1: 0, 2: 32 + 807/2, 800: 32 + 1} {
		snap := recursing(threads)
		if got := stackwalk.NewAllowance(snap).Limits(&snap.Threads[0], 1); got.Frames != want {
			t.Errorf("%d threads: at most %d frames each; want %d", threads, got.Frames, want)
		}
	}
	snap := recursing(800)
	w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(o32(), unwind.MethodCode, stackwalk.FromEntry|stackwalk.Agreed)}})
	frames, stop := w.WalkWithin(&snap.Threads[5], nil, stackwalk.Limits{Cost: stackwalk.MaxCost, Frames: 33})
	if len(frames) != 33 || stop.Reason != unwind.StopCost {
		t.Errorf("%d frames, stop %v", len(frames), stop)
	}
	snap.Sampled = true // one thread, at many moments
	if got := stackwalk.NewAllowance(snap).Limits(&snap.Threads[0], 1); got.Frames != 0 {
		t.Errorf("a sample of a profile may have %d frames", got.Frames)
	}
}

// TestAllowance: what finding callers costs is taken off what the threads may cost together,
// once for a place, however many threads come by there; and more code is worth more.
func TestAllowance(t *testing.T) {
	snap := recursing(40)
	source := costly{tables(o32(), unwind.MethodCode, stackwalk.FromEntry|stackwalk.Agreed), 50_000}
	w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{source}})
	a := stackwalk.NewAllowance(snap)
	before := a.Limits(&snap.Threads[0], 16).Cost
	w.WalkWithin(&snap.Threads[0], nil, a.Limits(&snap.Threads[0], 16))
	a.Charge(w.Spent())
	once := a.Limits(&snap.Threads[0], 16).Cost
	w.WalkWithin(&snap.Threads[1], nil, a.Limits(&snap.Threads[1], 16))
	a.Charge(w.Spent())
	if twice := a.Limits(&snap.Threads[0], 16).Cost; once >= before || twice != once {
		t.Errorf("each of 16 walks may cost %d, after one %d, after the same of another thread %d", before, once, twice)
	}
	large := *snap
	large.Modules = []*target.Module{{Image: &image.Image{Header: image.Header{Segments: []image.Segment{{Exec: true, Data: make([]byte, 64<<20)}}}}}}
	if got := stackwalk.NewAllowance(&large).Limits(&snap.Threads[0], 16).Cost; got <= before {
		t.Errorf("with 64 MB of code %d, with hardly any %d", got, before)
	}
}

// TestExhausted: a walk that may cost nothing asks no code, and says that a limit ended it.
func TestExhausted(t *testing.T) {
	snap := recursing(1)
	w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(o32(), unwind.MethodCode, stackwalk.FromEntry|stackwalk.Agreed)}})
	frames, stop := w.WalkWithin(&snap.Threads[0], nil, stackwalk.Limits{})
	if len(frames) != 1 || stop.Reason != unwind.StopCost {
		t.Errorf("%d frames, stop %v", len(frames), stop)
	}
}
