package chain

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// left is entry l as the caller of callee: exact, where the entry stands itself; gap, where another frame may lie between.
// A function that comes back to a caller interrupted nothing, and code that ends an exception was not called.
func (s *steps) left(callee *unwind.Frame, l *target.Listed) (exact, gap bool) {
	if l.PC == 0 || l.Outermost || callee.Method == none || s.graph == nil || !stackwalk.CodeKnown(callee) {
		return l.Exact, l.Gap
	}
	switch leaves := s.leavesException(callee); {
	case l.Exact && leaves == stackwalk.No:
		return !s.behindCall(l.PC, callee), true
	case !l.Exact && leaves == stackwalk.Yes:
		return false, true
	}
	return l.Exact, l.Gap
}

// leavesException is CallGraph.LeavesException for a frame, asked once.
func (s *steps) leavesException(f *unwind.Frame) stackwalk.Answer {
	a, known := s.leaves[f.PC]
	if !known {
		a = s.graph.LeavesException(f.Module, f.PC, f.Mode)
		if s.leaves == nil {
			s.leaves = map[uint64]stackwalk.Answer{}
		}
		s.leaves[f.PC] = a
	}
	return a
}

// behindCall tells whether a call stands before pc, in code of callee's mode.
func (s *steps) behindCall(pc uint64, callee *unwind.Frame) bool {
	m, _ := s.snap.ModuleAt(pc - 1)
	_, kind := callsite.BeforeIn(s.snap, m, pc, callee.Mode)
	return kind == callsite.Call
}

// doubtSecondChain makes guesses of all frames from a guess on, if the same return address stands on both sides of
// that: two chains are printed into one another more often than a function calls itself by a way that nothing proves.
//
//	warn_c ◄ warn_b ◄ warn_a ◄ crashy_write ◄─?─ __warn ◄ warn_slowpath_fmt ◄ warn_c ◄ …
func doubtSecondChain(frames []unwind.Frame) {
	seen := make(map[uint64]int, len(frames))
	for i := range frames {
		k, again := seen[frames[i].PC]
		if again && frames[i].PC != 0 {
			first := k + 1 + trusted(frames[k+1:i+1])
			for g := first; first <= i && g < len(frames); g++ {
				stackwalk.LimitTrust(&frames[g], unwind.Guess, unwind.CapOtherChain)
			}
		}
		seen[frames[i].PC] = i
	}
}

// callsCode tells whether the call before caller goes to code, as its instruction or constants say: none that led
// nowhere, but for a jump behind that.
//
//	call_ptr    call *%rax          RIP is 0; the line of call_ptr was lost
//	ptr_b       call call_ptr
func (s *splicer) callsCode(caller, callee *unwind.Frame) bool {
	entry, mode, ok := s.destination(caller)
	if !ok {
		return false
	}
	if leads, _, _ := s.graph.Reaches(s.snap, entry, mode, callee.CallSite); leads == stackwalk.Anywhere {
		return false
	}
	return s.judge.IsCode(entry)
}
