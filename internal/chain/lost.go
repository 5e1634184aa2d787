package chain

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// putBack finds the frame between callee and caller, an entry of the list, that the capture lost:
// the call before the entry goes to a function that makes one call only which leads to callee. On
// arm64 the chain of frame records lacks the caller of a function that had not made its own yet:
//
//	listed   leaf_deref ◄─?─ mid_b, behind its call of mid_c
//	mid_c    calls leaf_deref once: mid_c is put back, where that call returns to
//
// The entry then fits, as the caller of the frame that was put back.
func (s *splicer) putBack(callee, caller *unwind.Frame) (lost unwind.Frame, ok bool) {
	if caller.Checks&(unwind.TargetDiffers|unwind.TargetUnclear) == 0 || caller.Checks.Has(unwind.TargetMatches) || s.graph == nil {
		return lost, false
	}
	snap := s.snap
	entry, mode, ok := s.destination(caller)
	m, known := snap.ModuleAt(entry)
	if !ok || !known || m.Image == nil {
		return lost, false
	}
	ra, ok := s.steps.onlyCall(m, entry, mode, callee)
	if !ok {
		return lost, false
	}
	lost = s.judge.Caller(orNil(callee), unwind.MethodCode, ra, mode, false)
	stackwalk.SetChecks(&lost, lost.Checks|unwind.OnlyCaller)
	stackwalk.LimitTrust(&lost, callee.Trust, unwind.CapInherited)
	return lost, true
}

// maxLostTried bounds how often a lost frame is looked for in a list: each time code is read.
const maxLostTried = 64

// lacksOne tells whether a frame can be put back between callee and an entry right behind it. What a
// search through the stack found may as well be stale.
func (s *splicer) lacksOne(callee, caller *unwind.Frame, l *target.Listed) bool {
	if callee.Method == none || callee.Module == nil && !nowhere(callee) || l.Doubtful || l.Searched || s.lost >= maxLostTried {
		return false
	}
	s.lost++
	_, ok := s.putBack(callee, caller)
	return ok
}

// maxLost bounds the function that was lost, in bytes.
const maxLost = 8 << 10

// leadsTo tells whether a call that goes to a function, if that is known, leads to callee. What leads nowhere is a
// call through a pointer, which x86 makes by way of code that jumps anywhere.
func (s *steps) leadsTo(callee *unwind.Frame, to uint64, mode cpu.Mode, known bool) bool {
	if !known {
		return nowhere(callee)
	}
	leads, _, _ := s.graph.Reaches(s.snap, to, mode, callee.CallSite)
	if nowhere(callee) {
		return leads == stackwalk.Anywhere
	}
	return leads == stackwalk.Yes || leads == stackwalk.YesByJump
}

// mayLackOne tells whether one frame may lie between callee and an entry that cannot have called it: the call before
// the entry goes to a function that makes a call which leads to callee, or which nobody knows. One line is lost more
// often than several; where one explains nothing, the entry is of another chain rather:
//
//	bug_c ◄ bug_b          crashy_write and kth_fn call bug_b
//	warn_c                 calls warn_slowpath_fmt, which calls __warn
//
// The function may also jump to the one whose line is lost, or nobody knows:
//
//	vfs_write ◄ do_syscall_64   calls x64_sys_call, which jumps to __x64_sys_write, and that to ksys_write
func (s *splicer) mayLackOne(callee, caller *unwind.Frame) bool {
	entry, mode, ok := s.destination(caller)
	m, known := s.snap.ModuleAt(entry)
	if !ok || !known || m.Image == nil || !stackwalk.CodeKnown(callee) {
		return true
	}
	c := s.steps.callsIn(m, entry, mode, callee)
	if !c.some || s.steps.leavesException(callee) == stackwalk.Yes { // a kernel patches calls of functions that call nothing
		return true
	}
	w := s.graph
	if len(c.returns) > 0 || c.unknown && w.CalledByPointer(callee.Module, callee.CallSite, callee.Mode) != stackwalk.No {
		return true
	}
	calls := w.Callers(nil, callee.Module, callee.CallSite, callee.Mode)
	return slices.ContainsFunc(calls.Returns, func(ra uint64) bool {
		leads, _, _ := s.graph.Reaches(s.snap, entry, mode, ra)
		return leads != stackwalk.No
	})
}

// onlyCall is where the only call returns to that the function at entry in m makes and that leads
// to callee; ok is false where there are none or several.
func (s *steps) onlyCall(m *target.Module, entry uint64, mode cpu.Mode, callee *unwind.Frame) (ra uint64, ok bool) {
	if c := s.callsIn(m, entry, mode, callee); len(c.returns) == 1 {
		return c.returns[0], true
	}
	return 0, false
}

// inner are the calls of a function that lead to a callee: where they return to, two at most. some: the function makes
// calls; unknown: another may lead there.
type inner struct {
	returns       []uint64
	some, unknown bool
}

// callsIn looks through the function at entry in m.
func (s *steps) callsIn(m *target.Module, entry uint64, mode cpu.Mode, callee *unwind.Frame) (c inner) {
	graph, snap := s.graph, s.snap
	first := m.ToImage(entry) & m.Image.Arch.AddrMask()
	text, found := m.Image.Segments.At(first)
	if !found || !text.Exec {
		return c
	}
	step := max(m.Image.Arch.InsnAlignIn(mode), 1)
	for at := range target.RangeOf(first+step, maxLost).Words(step) {
		call, is := callsite.InSegment(m, text, at, mode)
		if !is {
			continue
		}
		if within, _, _ := graph.Reaches(snap, entry, mode, call.Addr); within != stackwalk.Yes {
			break // the function ends before
		}
		to, toMode, known := call.Target, call.TargetMode, call.Direct
		if !known {
			to, toMode, known = graph.Callee(snap, call.Addr, mode)
		}
		c.some, c.unknown = true, c.unknown || !known
		if s.leadsTo(callee, to, toMode, known) {
			if c.returns = append(c.returns, m.ToTarget(at)); len(c.returns) == 2 {
				break
			}
		}
	}
	return c
}
