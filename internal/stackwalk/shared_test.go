package stackwalk_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// moved is the program stopped in g, mapped by so much higher, of an image that it
// shares with others.
func moved(arch *cpu.Arch, m *target.Module, by uint64) *target.Snapshot {
	at := *m
	at.Lo, at.Hi, at.Bias = m.Lo+by, m.Hi+by, m.Bias+by
	stack := synth.Stack(arch).Zero(28).Word(inMain + by).Zero(64).Place(0x7fff_0000)
	snap := synth.Capture(arch, []*target.Module{&at}, stack)
	snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG + by, "sp": stack.Base, "ra": inF + by})}}
	return snap
}

// unbound answers what sameHundred does, but by a word of the capture.
type unbound struct{ graph }

func (f unbound) Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (stackwalk.Answer, bool, uint64) {
	a, _, cost := f.graph.Reaches(snap, entry, mode, pc)
	return a, false, cost
}

// TestForget: what walks have left of an image can be dropped; the next walk finds the same frames anew, and leaves that again.
func TestForget(t *testing.T) {
	arch := o32()
	asked, m := 0, program(arch)
	source := tables(arch, unwind.MethodCFI, 0)
	source.asked = &asked
	opt := stackwalk.Options{Sources: []stackwalk.Source{source}, CallGraph: graph{holds: sameHundred}, Shared: new(stackwalk.Shared)}
	first, _ := walk(moved(arch, m, 0), opt)
	opt.Shared.Forget()
	for _, asks := range []bool{true, false} {
		asked = 0
		again, _ := walk(moved(arch, m, 0x1_0000), opt)
		if asked != 0 != asks || len(again) != len(first) {
			t.Errorf("%d frames, sources were asked %d times; want %d frames, asked: %v", len(again), asked, len(first), asks)
		}
	}
}

// TestShared: a new walker finds what one before it has left of the image, wherever that
// is mapped, and asks no source; unless the answer is not the code's alone, or code may
// lie elsewhere than in the image.
func TestShared(t *testing.T) {
	arch := o32()
	code := graph{holds: sameHundred}
	for _, c := range []struct {
		name  string
		graph stackwalk.CallGraph
		by    uint64 // second mapping
		cut   uint64 // and what it lacks at the end
		share bool
		asks  bool
	}{
		{"the same mapping", code, 0, 0, true, false},
		{"another one", code, 0x1_0000, 0, true, false},
		{"not by pages", code, 0x100, 0, true, true},
		{"a part of the code is not mapped", code, 0, 0x100, true, true},
		{"a word of the capture decides", unbound{code}, 0, 0, true, true},
		{"nobody shares", code, 0, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, m := 0, program(arch)
			source := tables(arch, unwind.MethodCFI, 0)
			source.asked = &asked
			opt := stackwalk.Options{Sources: []stackwalk.Source{source}, CallGraph: c.graph}
			if c.share {
				opt.Shared = new(stackwalk.Shared)
			}
			first, _ := walk(moved(arch, m, 0), opt)
			asked = 0
			snap := moved(arch, m, c.by)
			snap.Modules[0].Hi -= c.cut
			again, stop := walk(snap, opt)
			if asked != 0 != c.asks {
				t.Errorf("sources were asked %d times", asked)
			}
			if len(first) != 3 || len(again) != 3 || stop.Reason != unwind.StopRoot {
				t.Fatalf("%d and %d frames, stop %v", len(first), len(again), stop)
			}
			for i := range again {
				again[i].Module = first[i].Module
				again[i].PC -= c.by
				again[i].CallSite -= c.by
			}
			if !slices.Equal(again, first) {
				t.Errorf("%+v\nfirst %+v", again, first)
			}
		})
	}
}

// TestSharedNobody: a return address of 0 is nobody's, whichever caller others have met
// there.
func TestSharedNobody(t *testing.T) {
	arch := o32()
	m, opt := program(arch), stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}, Shared: new(stackwalk.Shared)}
	if frames, _ := walk(moved(arch, m, 0), opt); len(frames) != 3 {
		t.Fatalf("%#x", pcs(frames))
	}
	snap := moved(arch, m, 0)
	snap.Memory = synth.Capture(arch, nil, synth.Stack(arch).Zero(96).Place(0x7fff_0000)).Memory
	if frames, stop := walk(snap, opt); !slices.Equal(pcs(frames), []uint64{inG, inF}) || stop.Reason != unwind.StopNullPC {
		t.Errorf("%#x, stop %v", pcs(frames), stop.Reason)
	}
}

// TestSharedByMany: walkers may run together; go test -race looks on.
func TestSharedByMany(t *testing.T) {
	arch := o32()
	m, opt := program(arch), stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, Shared: new(stackwalk.Shared)}
	var all sync.WaitGroup
	for i := range uint64(8) {
		all.Go(func() {
			for range 20 {
				if frames, _ := walk(moved(arch, m, i<<16), opt); len(frames) != 3 || frames[2].PC != inMain+i<<16 {
					t.Errorf("%#x", pcs(frames))
				}
			}
		})
	}
	all.Wait()
}
