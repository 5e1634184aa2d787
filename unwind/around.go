package unwind

import (
	"slices"

	"github.com/backsight/backsight/target"
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
// first is the index of the first such entry in t.Listed, and entries are those of frames.
func (w *Walker) appendAround(t *target.Thread, first int, frames []Frame, entries []int) ([]Frame, []int) {
	if first == len(t.Listed) {
		return frames, entries
	}
	s := newSplicer(w, t, nil)
	for k := first + reached(s.verifier.graph, frames, t.Listed[first:]); k < len(t.Listed); k++ {
		f := Frame{Method: MethodPrewalked}
		f.Judge(CodeMissing)
		f.Limit(Guess, CapNamed)
		if k == first && len(frames) > 0 {
			for _, b := range s.between(&frames[len(frames)-1], t.Listed[k].PC) {
				frames, entries = append(frames, b), append(entries, -1)
				f = b
			}
			if f.Method != MethodPrewalked { // the last one is of the function itself
				entries[len(entries)-1] = k
				continue
			}
		}
		frames, entries = append(frames, f), append(entries, k)
	}
	return frames, entries
}

// reached is how many of the functions that are running further out the walk has come to.
func reached(graph CallGraph, frames []Frame, around []target.Listed) int {
	for k := len(around); k > 0 && graph != nil; k-- {
		at := around[k-1].PC
		isOf := func(f Frame) bool {
			return codeKnown(&f) && f.Module.Contains(at) && graph.OneFunction(f.Module, at, f.CallSite, f.Mode) == Yes
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
func (s *splicer) between(callee *Frame, outer uint64) []Frame {
	if outer == 0 || s.verifier.graph == nil || !codeKnown(callee) || !callee.Module.Contains(outer) {
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
func (s *splicer) onlyCallers(callee Frame) (list []Frame) {
	for len(list) < maxBetween && s.verifier.graph != nil && codeKnown(&callee) && !s.verifier.trampolines.at(&s.state, callee.PC, callee.Mode) {
		returns, all := s.verifier.graph.Callers(callee.Module, callee.CallSite, callee.Mode)
		if !all || len(returns) != 1 {
			break
		}
		f := s.calling(&callee, returns[0])
		f.Limit(callee.Trust, CapInherited)
		list, callee = append(list, f), f
	}
	return list
}

// calling is the frame with a return address, a call before which leads to callee.
func (s *splicer) calling(callee *Frame, ra uint64) Frame {
	c := candidate{evidence: evidence{method: MethodCode, raw: ra, valid: true}}
	if s.state.Snapshot.Arch.ISABit {
		c.raw |= uint64(callee.Mode)
	}
	s.gather(callee, &c)
	f := c.frame()
	f.Judge(f.Checks | OnlyCaller | Disputed)
	return f
}

// callChains looks for chains of calls that lead from the function at outer to a frame.
type callChains struct {
	*splicer
	outer  uint64
	module *target.Module
	looked int // calls
	n      int // chains that were found
	found  []Frame
}

// back goes on from a frame to the frames that may have called it; chain has the frames on the way from
// the innermost frame to callee.
func (w *callChains) back(callee *Frame, chain []Frame) {
	graph := w.verifier.graph
	returns, _ := graph.Callers(w.module, callee.CallSite, callee.Mode)
	for _, ra := range returns {
		if w.looked++; w.looked > maxChained || w.n > 1 {
			return
		}
		f := w.calling(callee, ra)
		f.Limit(Guess, CapSeveralFit)
		way := append(slices.Clip(chain), f)
		if graph.OneFunction(w.module, w.outer, f.CallSite, f.Mode) == Yes {
			w.n, w.found = w.n+1, way
			continue
		}
		again := slices.ContainsFunc(chain, func(o Frame) bool { return o.PC == f.PC })
		if !again && len(way) < maxBetween {
			w.back(&f, way)
		}
	}
}
