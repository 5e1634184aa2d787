package backsight

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestEntered: a processor that stopped on its way into the kernel has not saved the program's registers: at the vector, while the entry's
// instructions store them, on a stack of its own. What lies there is of an earlier entry, and no frame is made of it.
func TestEntered(t *testing.T) {
	const low, saved, high = 0x1_0000, 0x1_3eb0, 0x1_4000
	arch := arm64.Archs()[0]
	for _, c := range []struct {
		name   string
		saved  uint64 // 0: the task was switched out
		sp     uint64
		cfa    uint64 // of a frame further out, 0 for none
		trust  unwind.Trust
		frames int
	}{
		{"at the vector", saved, high, 0, unwind.Certain, 1},
		{"while they are stored", saved, saved, 0, unwind.Certain, 1},
		{"in a function", saved, saved - 32, 0, unwind.Certain, 2},
		{"on the stack of interrupts", saved, 0x9_0000, saved, unwind.Certain, 2},
		{"there, by a guess", saved, 0x9_0000, saved, unwind.Guess, 1},
		{"elsewhere", saved, 0x9_0000, 0x9_0100, unwind.Certain, 1},
		{"switched out", 0, high, 0, unwind.Certain, 2},
	} {
		kernel := &target.Thread{Stack: target.Range{Lo: low, Hi: high}}
		kernel.Regs.Set(arch.SP, c.sp)
		th := &target.Thread{Task: &target.Task{Kernel: &target.KernelSide{Machine: &target.Snapshot{Arch: arch}, Thread: kernel, Saved: c.saved}}}
		b := Backtrace{Thread: th, Frames: []unwind.Frame{{PC: 0x40_0000}}, Stop: unwind.Stop{Reason: unwind.StopRoot}}
		side := Backtrace{Thread: kernel, Frames: []unwind.Frame{{PC: 0xffff_0000, CFA: c.cfa, HasCFA: c.cfa != 0}}, Stop: unwind.Stop{Reason: unwind.StopRoot}}
		side.Frames[0].Trust = c.trust
		b.enter(&side)
		if len(b.Frames) != c.frames || b.Kernel != 1 || (b.Doubt == "") != (c.frames == 2) || (b.Stop.Reason == unwind.StopRoot) != (c.frames == 2) {
			t.Errorf("%s: %d frames, %d of the kernel, stop %v, doubt %q", c.name, len(b.Frames), b.Kernel, b.Stop.Reason, b.Doubt)
		}
	}
}

// TestEnterRepeats: numbers of frames behind recursion of the kernel and of the program.
func TestEnterRepeats(t *testing.T) {
	b := Backtrace{Thread: &target.Thread{Task: &target.Task{Kernel: &target.KernelSide{}}}, Frames: make([]unwind.Frame, 3), Repeats: unwind.Repeats{{At: 2, Period: 1, Turns: 5, First: 2}}}
	side := Backtrace{Frames: make([]unwind.Frame, 4), Repeats: unwind.Repeats{{At: 1, Period: 1, Turns: 10, First: 1}}}
	b.enter(&side)
	for index, number := range []int{0, 11, 12, 13, 14, 15, 21} {
		if got := b.Repeats.Number(index); got != number {
			t.Errorf("frame %d of the list has number %d, want %d", index, got, number)
		}
	}
}
