package backsight

import (
	"fmt"
	"slices"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxDoubts bounds the issues that are about threads that contradict one another.
const maxDoubts = 8

// doubt takes certainty from the frames that other threads' frames, or where the stack lies,
// speak against.
func doubt(snap *target.Snapshot, traces []Backtrace) {
	if snap.Sampled {
		return
	}
	walks := make([]stackwalk.Walked, len(traces))
	for i := range traces {
		walks[i] = stackwalk.Walked{Thread: traces[i].Thread, Frames: traces[i].Frames}
	}
	for _, d := range stackwalk.Doubts(snap, walks) {
		b := &traces[d.Walk]
		b.Doubt = describe(traces, &d)
		if d.Overwritten {
			b.cut(b.provenFrom(d.Frame), unwind.Stop{Reason: unwind.StopUnreadable, Addr: d.Addr})
		}
		for k := d.Frame; k < len(b.Frames); k++ {
			stackwalk.LimitTrust(&b.Frames[k], unwind.Likely, unwind.CapOtherThread)
		}
	}
}

// provenFrom is where the frames end that calls prove one after the other, from an index on. What another thread's frames left of a
// stack, as buffers that were not filled, may still hold them.
func (b *Backtrace) provenFrom(frame int) int {
	for frame < len(b.Frames) && b.Frames[frame].Checks.Proven() {
		frame++
	}
	return frame
}

// cut ends a backtrace in front of a frame.
func (b *Backtrace) cut(frame int, stop unwind.Stop) {
	b.Frames, b.Stop = b.Frames[:frame], stop
	b.Listed = b.Listed[:min(frame, len(b.Listed))]
	b.Repeats = slices.DeleteFunc(b.Repeats, func(r unwind.Repeat) bool { return r.At >= frame })
}

// describe says in a line what speaks against a backtrace.
func describe(traces []Backtrace, d *stackwalk.Doubt) string {
	id := traces[d.Walk].Thread.ID
	if d.Other < 0 {
		return fmt.Sprintf("thread %d: its stack pointer, %#x, lies in the data of %s, which is no stack unless the program made it one",
			id, d.Addr, d.Module.Name)
	}
	if d.Overwritten {
		return fmt.Sprintf("thread %d: thread %d wrote over its stack above %#x, where frames may be left or lost", id, traces[d.Other].Thread.ID, d.Addr)
	}
	return fmt.Sprintf("thread %d: frame %d has words of the stack, at %#x, that frames of thread %d have as well; they cannot both be right",
		id, traces[d.Walk].Repeats.Number(d.Frame-1), d.Addr, traces[d.Other].Thread.ID)
}

// doubts are the issues of backtraces that something speaks against.
func doubts(traces []Backtrace) (issues []target.Issue) {
	n := 0
	for i := range traces {
		if traces[i].Doubt == "" {
			continue
		}
		if n++; n <= maxDoubts {
			issues = append(issues, target.Issue{Kind: target.IssueThreads, Text: traces[i].Doubt})
		}
	}
	if n > maxDoubts {
		issues = append(issues, target.Issue{Kind: target.IssueThreads, Text: fmt.Sprintf("the stacks of %d more threads are in doubt", n-maxDoubts)})
	}
	return issues
}
