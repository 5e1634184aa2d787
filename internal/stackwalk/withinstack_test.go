package stackwalk

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestWithinStack: a task waits in wait, called by receive. Its stack, of 0x100 bytes, lies right below that of a neighbour, whose
// frames came down to where receive's caller had been, or further. What leads there through a pointer is a guess, though
// calls prove one another from there on; what leads out of the stack is nothing.
func TestWithinStack(t *testing.T) {
	const lo, hi, user = 0x1000, 0x1100, 0x7fff_0000
	const called, pointer = unwind.CallBefore | unwind.TargetMatches, unwind.CallBefore
	arch := mips.Archs()[0]
	frame := func(cfa uint64, trust unwind.Trust, checks unwind.Checks) unwind.Frame {
		return unwind.Frame{CFA: cfa, HasCFA: true, Trust: trust, Checks: checks}
	}
	interrupted := unwind.Frame{CFA: user + 0x20, HasCFA: true, Trust: unwind.Certain, Exact: true}
	for _, c := range []struct {
		name   string
		sp     uint64
		frames []unwind.Frame // behind the innermost, which is of 0x20 bytes
		want   []unwind.Trust
	}{
		{"the whole stack", lo + 0x80, []unwind.Frame{frame(lo+0xc0, unwind.Certain, called), frame(hi, unwind.Certain, pointer)}, []unwind.Trust{unwind.Certain, unwind.Certain, unwind.Certain}},
		{"a frame across the end", lo + 0x80, []unwind.Frame{frame(lo+0xc0, unwind.Certain, called), frame(lo+0xf0, unwind.Certain, pointer), frame(hi+0x10, unwind.Certain, called), frame(hi+0x20, unwind.Certain, called)},
			[]unwind.Trust{unwind.Certain, unwind.Certain, unwind.Guess, unwind.Guess}},
		{"a frame that ends there, and another", lo + 0x80, []unwind.Frame{frame(lo+0xc0, unwind.Certain, called), frame(hi, unwind.Certain, pointer), frame(hi+0x20, unwind.Certain, called)}, []unwind.Trust{unwind.Certain, unwind.Certain, unwind.Guess}},
		{"calls prove all", lo + 0x80, []unwind.Frame{frame(lo+0xc0, unwind.Certain, called), frame(hi+0x10, unwind.Certain, called)}, []unwind.Trust{unwind.Certain, unwind.Certain, unwind.Likely}},
		{"a guess leads out", lo + 0x80, []unwind.Frame{frame(lo+0xc0, unwind.Certain, pointer), frame(hi, unwind.Certain, pointer), frame(hi+0x20, unwind.Guess, 0)}, []unwind.Trust{unwind.Certain, unwind.Certain, unwind.Certain}},
		{"from the stack of interrupts", hi + 0x400, []unwind.Frame{frame(hi+0x440, unwind.Certain, called), frame(lo+0x80, unwind.Certain, pointer), frame(hi, unwind.Certain, called)}, []unwind.Trust{unwind.Certain, unwind.Certain, unwind.Certain, unwind.Certain}},
		{"to a program's stack", lo + 0xe0, []unwind.Frame{frame(user, unwind.Certain, pointer), interrupted}, []unwind.Trust{unwind.Certain, unwind.Certain, unwind.Certain}},
		{"an exception on a neighbour's", lo + 0xa0, []unwind.Frame{frame(hi+0x40, unwind.Certain, pointer), {CFA: hi + 0x80, HasCFA: true, Trust: unwind.Likely, Exact: true}}, []unwind.Trust{unwind.Certain, unwind.Guess}},
	} {
		frames := append([]unwind.Frame{{CFA: c.sp + 0x20, HasCFA: true, Trust: unwind.Certain}}, c.frames...)
		thread := target.Thread{Regs: *synth.Regs(arch, map[string]uint64{"sp": c.sp}), Stack: target.Range{Lo: lo, Hi: hi}}
		n, left := withinStack(&target.Snapshot{Arch: arch}, &thread, frames)
		if frames = frames[:n]; left {
			doubtLeft(frames)
		}
		if len(frames) != len(c.want) {
			t.Errorf("%s: %d frames, want %d", c.name, len(frames), len(c.want))
			continue
		}
		for i, want := range c.want {
			if frames[i].Trust != want {
				t.Errorf("%s: frame %d is %v, want %v", c.name, i, frames[i].Trust, want)
			}
		}
		if thread.Stack = (target.Range{}); n > 0 {
			if all, _ := withinStack(&target.Snapshot{Arch: arch}, &thread, c.frames); all != len(c.frames) {
				t.Errorf("%s: %d frames without bounds", c.name, all)
			}
		}
	}
}
