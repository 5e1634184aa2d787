package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// putBack finds the frame between the last of frames and entry k that the capture lost: the
// call before the entry goes to a function that makes one call only which leads to the last
// frame. On arm64 the chain of frame records lacks the caller of a function that had not made
// its own yet:
//
//	listed   leaf_deref ◄─?─ mid_b, behind its call of mid_c
//	mid_c    calls leaf_deref once: mid_c is put back, where that call returns to
//
// The entry then fits, as the caller of the frame that was put back.
func (s *splicer) putBack(frames []Frame, k int) (lost Frame, ok bool) {
	caller := &s.frames[k]
	if len(frames) == 0 || caller.Checks&(TargetDiffers|TargetUnclear) == 0 || caller.Checks.has(TargetMatches) || s.verifier.graph == nil {
		return lost, false
	}
	snap := s.state.Snapshot
	site, kind := callsite.BeforeIn(snap, caller.Module, caller.PC, caller.Mode)
	m, known := snap.ModuleAt(site.Target)
	if kind != callsite.Call || !site.Direct || !known || m.Image == nil {
		return lost, false
	}
	ra, ok := s.onlyCall(m, site, &frames[len(frames)-1])
	if !ok {
		return lost, false
	}
	c := candidate{evidence: evidence{method: MethodCode, raw: ra, valid: true}}
	if snap.Arch.ISABit {
		c.raw |= uint64(site.TargetMode)
	}
	s.gather(&frames[len(frames)-1], &c)
	lost = c.frame()
	lost.Trust = Likely
	s.frames[k], _ = s.step(&lost, k)
	return lost, true
}

// maxLost bounds the function that was lost, in bytes.
const maxLost = 8 << 10

// onlyCall is where the only call returns to that the function at site.Target makes and that
// leads to callee; ok is false where there are none or several.
func (s *splicer) onlyCall(m *target.Module, site cpu.CallSite, callee *Frame) (ra uint64, ok bool) {
	graph, snap, mode := s.verifier.graph, s.state.Snapshot, site.TargetMode
	entry := m.ToImage(site.Target) & m.Image.Arch.AddrMask()
	text, found := m.Image.Segment(entry)
	if !found || !text.Exec {
		return 0, false
	}
	step := max(m.Image.Arch.InsnAlignIn(mode), 1)
	for at := entry + step; at < entry+maxLost; at += step {
		call, is := callsite.InSegment(m, text, at, mode)
		if !is {
			continue
		}
		if within, _, _ := graph.Reaches(snap, site.Target, mode, call.Addr); within != Yes {
			break // the function ends before
		}
		if !call.Direct {
			continue
		}
		if leads, _, _ := graph.Reaches(snap, call.Target, call.TargetMode, callee.CallSite); leads != Yes && leads != YesByJump {
			continue
		}
		if ok {
			return 0, false
		}
		ra, ok = m.ToTarget(at), true
	}
	return ra, ok
}
