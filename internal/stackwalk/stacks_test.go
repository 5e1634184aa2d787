package stackwalk_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Two stacks, and a module with code and variables.
const (
	stackA, stackB = 0x7000_0000, 0x7100_0000
	programAt      = 0x40_0000
	variablesAt    = 0x41_0000
)

// threads is a program whose threads stand at the given SPs, PC after PC.
func threads(t *testing.T, pid int, sps ...uint64) *target.Snapshot {
	arch := archOf(t, "x86_64")
	img := image.New(image.Header{Path: "program", Arch: arch, Segments: []image.Segment{
		{Addr: programAt, Size: 0x1000, Data: make([]byte, 0x1000), Read: true, Exec: true},
		{Addr: variablesAt, Size: 0x1000, Read: true, Write: true}}}, nil)
	var b target.Builder
	for _, base := range []uint64{stackA, stackB, variablesAt} {
		b.Add(base, make([]byte, 0x1000), 0, target.PermUnknown)
	}
	snap := &target.Snapshot{Arch: arch, PID: pid, Memory: b.Memory(arch), Modules: []*target.Module{target.NewModule("program", img, 0)}}
	for i, sp := range sps {
		snap.Threads = append(snap.Threads, target.Thread{ID: i + 1, Regs: *synth.Regs(arch, map[string]uint64{"rip": programAt + uint64(i), "rsp": sp})})
	}
	return snap
}

func archOf(t *testing.T, name string) *cpu.Arch {
	for _, a := range captured.Archs() {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no processor %s", name)
	return nil
}

// walked is a walk through frames with these CFAs, and a last one without.
func walked(snap *target.Snapshot, thread int, cfas ...uint64) stackwalk.Walked {
	t := &snap.Threads[thread]
	pc, _, _ := snap.Arch.PCOf(&t.Regs)
	frames := []unwind.Frame{{PC: pc, Exact: true}}
	for i, cfa := range cfas {
		frames[i].CFA, frames[i].HasCFA = cfa, true
		frames = append(frames, unwind.Frame{PC: programAt + 0x100 + uint64(i)})
	}
	return stackwalk.Walked{Thread: t, Frames: frames}
}

func doubtsOf(snap *target.Snapshot, walks ...stackwalk.Walked) (out []string) {
	for _, d := range stackwalk.Doubts(snap, walks) {
		out = append(out, fmt.Sprintf("walk %d from frame %d, with %d", d.Walk, d.Frame, d.Other))
	}
	return out
}

func expectDoubts(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("doubts %q, want %q", got, want)
	}
}

// TestStacksOfTheirOwn: threads on different stacks, and on neighbouring parts of one
// piece of memory, do not concern one another.
func TestStacksOfTheirOwn(t *testing.T) {
	snap := threads(t, 1, stackA, stackA+0x40, stackB)
	expectDoubts(t, doubtsOf(snap, walked(snap, 0, stackA+0x20, stackA+0x40), walked(snap, 1, stackA+0x80), walked(snap, 2, stackB+0x800)))
}

// TestSharedStack: the first thread sleeps in a function, frame 0, that waits for frame 1;
// a second thread was started on the same stack and reaches into frame 1's words. What
// follows from these words is in doubt in both walks.
func TestSharedStack(t *testing.T) {
	snap := threads(t, 1, stackA, stackA+0x40, stackB)
	expectDoubts(t, doubtsOf(snap, walked(snap, 0, stackA+0x20, stackA+0x80, stackA+0x100), walked(snap, 1, stackA+0x60), walked(snap, 2, stackB+0x10)),
		"walk 0 from frame 2, with 1", "walk 1 from frame 1, with 0")
}

// TestFrameWithin: the words of one frame lie within those of another, whose frame begins
// first; others lie between.
func TestFrameWithin(t *testing.T) {
	snap := threads(t, 1, stackA, stackA+0x40, stackA+0x200, stackA+0x180)
	expectDoubts(t, doubtsOf(snap, walked(snap, 0, stackA+0x100), walked(snap, 1, stackA+0x50), walked(snap, 2, stackA+0x210), walked(snap, 3, stackA+0x190)),
		"walk 0 from frame 1, with 1", "walk 1 from frame 1, with 0")
}

// TestListedTwice: a machine's capture lists what a processor does as a thread, and as the
// task that runs there; in a process, two threads never stand at the same place of a stack.
func TestListedTwice(t *testing.T) {
	for pid, want := range map[int][]string{0: nil, 1: {"walk 0 from frame 1, with 1", "walk 1 from frame 1, with 0"}} {
		snap := threads(t, pid, stackA, stackA)
		snap.Threads[1].Regs = snap.Threads[0].Regs
		expectDoubts(t, doubtsOf(snap, walked(snap, 0, stackA+0x20), walked(snap, 1, stackA+0x20)), want...)
	}
}

// TestInterruptedTask: an exception handler on the machine's own stack interrupted a task,
// which the capture lists as well.
func TestInterruptedTask(t *testing.T) {
	snap := threads(t, 0, stackA, stackB)
	handler, task := walked(snap, 0, stackA+0x20, stackB), walked(snap, 1, stackB+0x40)
	handler.Frames = append(handler.Frames[:2], task.Frames...)
	expectDoubts(t, doubtsOf(snap, handler, task))
}

// TestOverflowOntoNeighbour: of two tasks the upper one came down onto the stack of the lower one, whose frames further out are lost;
// its own are whole. In a process, who is right nobody knows.
func TestOverflowOntoNeighbour(t *testing.T) {
	for pid, want := range map[int][]string{0: {"walk 1 from frame 2, with 0"}, 1: {"walk 0 from frame 1, with 1", "walk 1 from frame 2, with 0"}} {
		snap := threads(t, pid, stackA+0x80, stackA+0x40)
		snap.Threads[0].Stack, snap.Threads[1].Stack = target.Range{Lo: stackA + 0x100, Hi: stackA + 0x200}, target.Range{Lo: stackA, Hi: stackA + 0x100}
		culprit, victim := walked(snap, 0, stackA+0xc0, stackA+0x1c0), walked(snap, 1, stackA+0x60, stackA+0xa0, stackA+0x100)
		expectDoubts(t, doubtsOf(snap, culprit, victim), want...)
		for _, d := range stackwalk.Doubts(snap, []stackwalk.Walked{culprit, victim}) {
			if d.Overwritten != (pid == 0) {
				t.Errorf("%+v", d)
			}
		}
	}
}

// TestMemoryOfItsOwn: the reports of a log are of different moments.
func TestMemoryOfItsOwn(t *testing.T) {
	snap := threads(t, 1, stackA, stackA)
	snap.Threads[0].Memory = snap.Memory
	expectDoubts(t, doubtsOf(snap, walked(snap, 0, stackA+0x20), walked(snap, 1, stackA+0x40)))
}

// TestStackInVariables: a process that runs on a variable has no stack there, unless the
// capture says so, or a signal frame leads out; a machine without processes may.
func TestStackInVariables(t *testing.T) {
	const sp = variablesAt + 0x100
	snap := threads(t, 1, sp)
	w := walked(snap, 0, sp+0x20)
	expectDoubts(t, doubtsOf(snap, w), "walk 0 from frame 1, with -1")

	stated := threads(t, 1, sp)
	stated.Threads[0].Stack = target.Range{Lo: variablesAt, Hi: variablesAt + 0x1000}
	expectDoubts(t, doubtsOf(stated, walked(stated, 0, sp+0x20)))

	machine := threads(t, 0, sp)
	expectDoubts(t, doubtsOf(machine, walked(machine, 0, sp+0x20)))

	signal := walked(snap, 0, sp+0x20, stackA)
	signal.Frames[1].Method = unwind.MethodSigframe
	expectDoubts(t, doubtsOf(snap, signal))
}

// TestManyThreads: the walks of a hundred thousand threads on one stack are compared in one
// sweep.
func TestManyThreads(t *testing.T) {
	snap := threads(t, 1, stackA)
	walks := make([]stackwalk.Walked, 100_000)
	for i := range walks {
		walks[i] = walked(snap, 0, stackA+0x800)
	}
	if n := len(stackwalk.Doubts(snap, walks)); n != len(walks) {
		t.Errorf("%d of %d walks are in doubt", n, len(walks))
	}
}
