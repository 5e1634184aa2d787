package unwind

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
)

// TestWithinStack: a task waits in wait, called by receive. Its stack, of 0x100 bytes, lies right below that of a neighbour, whose
// frames came down to where receive's caller had been, or further. What leads there through a pointer is a guess, though
// calls prove one another from there on; what leads out of the stack is nothing.
func TestWithinStack(t *testing.T) {
	const lo, hi, user = 0x1000, 0x1100, 0x7fff_0000
	const called, pointer = CallBefore | TargetMatches, CallBefore
	arch := mips.Archs()[0]
	frame := func(cfa uint64, trust Trust, checks Checks) Frame {
		return Frame{CFA: cfa, HasCFA: true, Trust: trust, Checks: checks}
	}
	interrupted := Frame{CFA: user + 0x20, HasCFA: true, Trust: Certain, Exact: true}
	for _, c := range []struct {
		name   string
		sp     uint64
		frames []Frame // behind the innermost, which is of 0x20 bytes
		want   []Trust
	}{
		{"the whole stack", lo + 0x80, []Frame{frame(lo+0xc0, Certain, called), frame(hi, Certain, pointer)}, []Trust{Certain, Certain, Certain}},
		{"a frame across the end", lo + 0x80, []Frame{frame(lo+0xc0, Certain, called), frame(lo+0xf0, Certain, pointer), frame(hi+0x10, Certain, called), frame(hi+0x20, Certain, called)},
			[]Trust{Certain, Certain, Guess, Guess}},
		{"a frame that ends there, and another", lo + 0x80, []Frame{frame(lo+0xc0, Certain, called), frame(hi, Certain, pointer), frame(hi+0x20, Certain, called)}, []Trust{Certain, Certain, Guess}},
		{"calls prove all", lo + 0x80, []Frame{frame(lo+0xc0, Certain, called), frame(hi+0x10, Certain, called)}, []Trust{Certain, Certain, Likely}},
		{"a guess leads out", lo + 0x80, []Frame{frame(lo+0xc0, Certain, pointer), frame(hi, Certain, pointer), frame(hi+0x20, Guess, 0)}, []Trust{Certain, Certain, Certain}},
		{"from the stack of interrupts", hi + 0x400, []Frame{frame(hi+0x440, Certain, called), frame(lo+0x80, Certain, pointer), frame(hi, Certain, called)}, []Trust{Certain, Certain, Certain, Certain}},
		{"to a program's stack", lo + 0xe0, []Frame{frame(user, Certain, pointer), interrupted}, []Trust{Certain, Certain, Certain}},
		{"an exception on a neighbour's", lo + 0xa0, []Frame{frame(hi+0x40, Certain, pointer), {CFA: hi + 0x80, HasCFA: true, Trust: Likely, Exact: true}}, []Trust{Certain, Guess}},
	} {
		frames := append([]Frame{{CFA: c.sp + 0x20, HasCFA: true, Trust: Certain}}, c.frames...)
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
