package chain

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// none is the method of a callee that is not known: the list begins the chain.
const none = unwind.Method(255)

// splicer finds the frames among those listed.
type splicer struct {
	snap      *target.Snapshot // of the thread's moment
	graph     stackwalk.CallGraph
	judge     *stackwalk.Judge
	maxFrames int
	mode      cpu.Mode
	listed    []target.Listed
	callee    unwind.Frame   // the last frame that was walked, or one of the method none
	frames    []unwind.Frame // what is known of each entry from its callee on the best path
	sure      int            // the number of entries up to the last that the capture does not doubt
	lost      int            // how often a lost frame was looked for
	steps     steps
}

func newSplicer(snap *target.Snapshot, opt *stackwalk.Options, t *target.Thread) *splicer {
	snap = snap.Of(t)
	s := &splicer{snap: snap, graph: opt.CallGraph, judge: stackwalk.NewJudge(snap, t, opt), maxFrames: opt.MaxFrames}
	if s.maxFrames <= 0 {
		s.maxFrames = unwind.DefaultMaxFrames
	}
	s.steps = steps{graph: s.graph, snap: s.snap}
	_, s.mode, _ = snap.Arch.PCOf(&t.Regs)
	return s
}

// list makes the entries those that may follow callee.
func (s *splicer) list(listed []target.Listed, callee unwind.Frame) {
	s.listed, s.callee, s.frames = listed, callee, make([]unwind.Frame, len(listed))
	for s.sure = len(listed); s.sure > 0 && listed[s.sure-1].Doubtful; s.sure-- {
	}
}

// orNil is nil where a callee is not known.
func orNil(callee *unwind.Frame) *unwind.Frame {
	if callee.Method == none {
		return nil
	}
	return callee
}

// trusted is how many frames stand before the first that is a guess.
func trusted(frames []unwind.Frame) int {
	for i := range frames {
		if frames[i].Trust == unwind.Guess {
			return i
		}
	}
	return len(frames)
}

// destination is the function that the call before caller goes to, by its instruction or by the
// constants in the register that it goes through.
func (s *splicer) destination(caller *unwind.Frame) (entry uint64, mode cpu.Mode, ok bool) {
	graph, snap := s.graph, s.snap
	if graph == nil || caller.Module == nil || caller.Module.Image == nil {
		return 0, 0, false
	}
	site, kind := callsite.BeforeIn(snap, caller.Module, caller.PC, caller.Mode)
	switch {
	case kind != callsite.Call:
		return 0, 0, false
	case site.Direct:
		return site.Target, site.TargetMode, true
	}
	return graph.Callee(snap, site.Addr, caller.Mode)
}

// nowhere tells whether a frame stands where no code is. A call through a bad pointer led there.
func nowhere(f *unwind.Frame) bool {
	return f.Method != none && f.Module == nil && f.Checks&(unwind.Executable|unwind.CodeMissing) == 0
}

// How a listed frame was left for its callee: by a call, or by an exception, between the two of which stands
// the code that the exception entered. Both ends of such a step say so, and where they contradict one another,
// the line between them was lost:
//
//	asm_sysvec_apic_timer_interrupt+0x16    ends in iretq: entered by an exception
//	delay_tsc+0x31                          stands itself: was interrupted
//	crashy_write+0x31c                      behind a call
//
// steps judges steps from callees to their callers by what code says of both ends.
type steps struct {
	graph  stackwalk.CallGraph
	snap   *target.Snapshot
	leaves map[uint64]stackwalk.Answer // what CallGraph.LeavesException said, by PC: the list bounds them
}
