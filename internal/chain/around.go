package chain

import (
	"slices"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// appendAround appends the functions that the capture says are running further out than the frames
// (target.Listed.Around), as guesses. Example: of an oops in a work, a kernel for MIPS lists two frames and prints the
// words of a third; it says that the task runs work_fn:
//
//	walked   leaf_deref ◄ mid_c ◄ mid_b
//	around                              work_fn ◄ process_one_work ◄ worker_thread
//
// Functions that the walk has reached are not named again: a frame of work_fn is followed by process_one_work.
//
// first is the index of the first such entry in the thread's list, and entries are those of frames.
func (s *splicer) appendAround(around []target.Listed, first int, frames []unwind.Frame, entries []int) ([]unwind.Frame, []int) {
	for k := reached(s.graph, frames, around); k < len(around); k++ {
		f := unwind.Frame{Method: unwind.MethodPrewalked}
		stackwalk.SetChecks(&f, unwind.CodeMissing)
		stackwalk.LimitTrust(&f, unwind.Guess, unwind.CapNamed)
		frames, entries = append(frames, f), append(entries, first+k)
	}
	return frames, entries
}

// reached is how many of the functions that are running further out the walk has come to.
func reached(graph stackwalk.CallGraph, frames []unwind.Frame, around []target.Listed) int {
	for k := len(around); k > 0 && graph != nil; k-- {
		at := around[k-1].PC
		isOf := func(f unwind.Frame) bool {
			return stackwalk.CodeKnown(&f) && f.Module.Contains(at) && graph.OneFunction(f.Module, at, f.CallSite, f.Mode) == stackwalk.Yes
		}
		if at != 0 && slices.ContainsFunc(frames, isOf) {
			return k
		}
	}
	return 0
}
