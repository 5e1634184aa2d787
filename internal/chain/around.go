package chain

import (
	"slices"

	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// appendAround appends the functions that the capture says are running further out than the frames
// (target.Listed.Around), and the frames between, where calls lead only one way from the first of them to the
// last frame. Example: of an oops in a work, a kernel for MIPS lists two frames and prints the words of a
// third; it says that the task runs work_fn. mid_b is called by mid_a and three others, and of these only mid_a
// by work_fn:
//
//	walked   leaf_deref ◄ mid_c ◄ mid_b
//	around                              work_fn ◄ process_one_work ◄ worker_thread
//	result   leaf_deref ◄ mid_c ◄ mid_b ◄ mid_a ◄ work_fn ◄ process_one_work ◄ worker_thread
//
// All of them are guesses: work_fn may as well have come to mid_b through a pointer.
//
// Functions that the walk has reached are not named again: a frame of work_fn is followed by process_one_work.
//
// first is the index of the first such entry in the thread's list, and entries are those of frames.
func (s *splicer) appendAround(around []target.Listed, first int, frames []unwind.Frame, entries []int) ([]unwind.Frame, []int) {
	for k := reached(s.graph, frames, around); k < len(around); k++ {
		f := unwind.Frame{Method: unwind.MethodPrewalked}
		f.SetChecks(unwind.CodeMissing)
		f.LimitTrust(unwind.Guess, unwind.CapNamed)
		if k == 0 && len(frames) > 0 {
			for _, b := range s.between(&frames[len(frames)-1], around[k].PC) {
				frames, entries = append(frames, b), append(entries, -1)
				f = b
			}
			if f.Method != unwind.MethodPrewalked { // the last one is of the function itself
				entries[len(entries)-1] = first
				continue
			}
		}
		frames, entries = append(frames, f), append(entries, first+k)
	}
	return frames, entries
}

// reached is how many of the functions that are running further out the walk has come to.
func reached(graph unwind.CallGraph, frames []unwind.Frame, around []target.Listed) int {
	for k := len(around); k > 0 && graph != nil; k-- {
		at := around[k-1].PC
		isOf := func(f unwind.Frame) bool {
			return f.CodeKnown() && f.Module.Contains(at) && graph.OneFunction(f.Module, at, f.CallSite, f.Mode) == unwind.Yes
		}
		if at != 0 && slices.ContainsFunc(frames, isOf) {
			return k
		}
	}
	return 0
}

// The most calls between two functions, and of all ways back from the inner one that are looked at.
const (
	maxBetween = 8
	maxChained = 256
)

// between are the frames from the caller of callee to one of the function at outer, a target address: none
// where no calls or more than one chain of them lead from there to callee's function.
func (s *splicer) between(callee *unwind.Frame, outer uint64) []unwind.Frame {
	if outer == 0 || s.graph == nil || !callee.CodeKnown() || !callee.Module.Contains(outer) {
		return nil
	}
	w := callChains{splicer: s, outer: outer, module: callee.Module}
	w.back(callee, nil)
	if w.n != 1 || w.looked > maxChained {
		return nil
	}
	return w.found
}

// onlyCallers are the caller of a frame, the caller of that caller, and so on, as long as only one call
// leads to each.
// Example: a warning says that warn_c raised it, and of the chain nothing but return_to_handler; warn_b
// alone calls warn_c, and warn_a alone warn_b.
func (s *splicer) onlyCallers(callee unwind.Frame) (list []unwind.Frame) {
	for len(list) < maxBetween && s.graph != nil && callee.CodeKnown() && !s.judge.AtTrampoline(&callee) {
		returns, all := s.graph.Callers(callee.Module, callee.CallSite, callee.Mode)
		if !all || len(returns) != 1 {
			break
		}
		f := s.calling(&callee, returns[0])
		f.LimitTrust(callee.Trust, unwind.CapInherited)
		list, callee = append(list, f), f
	}
	return list
}

// calling is the frame with a return address, a call before which leads to callee.
func (s *splicer) calling(callee *unwind.Frame, ra uint64) unwind.Frame {
	f := s.judge.Caller(callee, unwind.MethodCode, ra, callee.Mode, false)
	f.SetChecks(f.Checks | unwind.OnlyCaller | unwind.Disputed)
	return f
}

// callChains looks for chains of calls that lead from the function at outer to a frame.
type callChains struct {
	*splicer
	outer  uint64
	module *target.Module
	looked int // calls
	n      int // chains that were found
	found  []unwind.Frame
}

// back goes on from a frame to the frames that may have called it; chain has the frames on the way from
// the innermost frame to callee.
func (w *callChains) back(callee *unwind.Frame, chain []unwind.Frame) {
	graph := w.graph
	returns, _ := graph.Callers(w.module, callee.CallSite, callee.Mode)
	for _, ra := range returns {
		if w.looked++; w.looked > maxChained || w.n > 1 {
			return
		}
		f := w.calling(callee, ra)
		f.LimitTrust(unwind.Guess, unwind.CapSeveralFit)
		way := append(slices.Clip(chain), f)
		if graph.OneFunction(w.module, w.outer, f.CallSite, f.Mode) == unwind.Yes {
			w.n, w.found = w.n+1, way
			continue
		}
		again := slices.ContainsFunc(chain, func(o unwind.Frame) bool { return o.PC == f.PC })
		if !again && len(way) < maxBetween {
			w.back(&f, way)
		}
	}
}
