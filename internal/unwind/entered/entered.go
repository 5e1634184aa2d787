// Package entered finds a caller for code that nobody has called: a function with a frame has jumped there, and the code
// makes no frame of its own. GHC's code runs so, and what interpreters make of hot loops. On the stack lies the return
// address of that function, just as far above SP as the function had it when it jumped. Code in no module may have made a
// little room before, whose size nobody tells: of that, the nearest such address counts.
//
//	SP ─► room for the code that is jumped to
//	      what StgRun has saved
//	      0x23591f8          behind a call of StgRun: the caller
package entered

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source is the stackwalk.FrameSource of such code. Its method is code: the function that has jumped is analysed.
type Source struct{ graph stackwalk.CallGraph }

var _ stackwalk.FrameSource = Source{}

// New returns a source that asks graph how functions leave their frames.
func New(graph stackwalk.CallGraph) Source { return Source{graph} }

// Method is MethodCode.
func (Source) Method() unwind.Method { return unwind.MethodCode }

// maxWords bounds the search: GHC's run-time system leaves room for 16 KB.
const maxWords = 4096

// maxRoom bounds the room that code in no module may have made for itself: a trace of LuaJIT has 256 words at most.
// maxAbove bounds, in words, how far above such code's SP the return address lies: beyond that room LuaJIT's interpreter
// has 10 words.
const (
	maxRoom  = 256 * 8
	maxAbove = 512
)

// wordCost is what a look at a word that may be a code address costs, in instructions analysed.
const wordCost = 1

// Step finds the nearest return address of a call to a function that has left its frame just here.
func (f Source) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	sp, ok := s.Regs.Lookup(arch.SP)
	if !ok || arch.Decoder == nil || s.IsAbove() {
		return unwind.NotCovered
	}
	sp &= arch.AddrMask()
	most := uint64(maxWords)
	if s.Module == nil {
		most = maxAbove
	}
	for slot, raw := range s.CodeWords(sp, most) {
		if s.Cost += wordCost; s.Exhausted() {
			return unwind.TooCostly
		}
		if f.leftAt(s, sp, slot, raw, out) {
			if s.Exact && f.calledElse(s, raw) {
				break
			}
			return unwind.Found
		}
	}
	return unwind.NotCovered
}

// calledElse tells whether the code at PC may return by the link register, which is not raw: a call stands before the place
// there, and may have led to the code.
func (f Source) calledElse(s *stackwalk.State, raw uint64) bool {
	link, ok := s.Regs.Lookup(s.Snapshot.Arch.LR)
	if !ok || link == raw {
		return false
	}
	pc, mode := s.Snapshot.Arch.SplitCode(link)
	call, kind := callsite.Before(s.Snapshot, pc, mode)
	if kind != callsite.Call || !call.Direct {
		return kind == callsite.Call
	}
	a, _, cost := f.graph.Reaches(s.Snapshot, call.Target, call.TargetMode, s.Site)
	s.Cost += cost
	return a != stackwalk.No
}

// leftAt fills out where raw, in a slot, is the return address of a function that has left its frame.
func (f Source) leftAt(s *stackwalk.State, sp, slot, raw uint64, out *stackwalk.Caller) bool {
	pc, mode := s.Snapshot.Arch.SplitCode(raw)
	m, ok := s.Snapshot.ModuleAt(pc - 1)
	if !ok || m.Image == nil {
		return false
	}
	call, kind := callsite.BeforeIn(s.Snapshot, m, pc, mode)
	if kind != callsite.Call || !call.Direct {
		return false
	}
	at, ok := stackwalk.Entered(s.Snapshot, f.graph, call, slot, raw, out)
	return ok && (at == sp || s.Module == nil && at-sp < maxRoom)
}
