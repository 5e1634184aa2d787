package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// proveThrough finds out where calls through registers went, where a doubt depends on that: the caller may still hold
// the address that it called, in a register that the callee gives back or in a word that such a register leads to.
//
//	60d32: blx r6      ◄─ r6 is still f's address: the call went to f       proven
//
// What was overwritten brings no such value along: of another function's call through r6, r6 would have to be f's
// address by chance. Nothing follows from another value, which may have been stored since. The stack decides,
// which caches of frames do not know.
func (w *Walker) proveThrough(snap *target.Snapshot, t *target.Thread, frames []Frame) {
	var s *siblings
	graph := w.finder.verifier.graph
	for i, left := 1, maxWeighed; graph != nil && i < len(frames) && left > 0; i++ {
		f := &frames[i]
		if f.Checks&(CallBefore|targetChecks|TargetDiffers|NoCall) != CallBefore || f.Module == nil || !frames[i-1].HasCFA || !needsProof(frames, i) {
			continue
		}
		left--
		held := graph.Witnesses().CalledThrough(f.Module, f.CallSite, f.Mode)
		if held.Kind == Anything {
			continue
		}
		if s == nil {
			s = w.siblingsIn(snap)
		}
		if !s.recover(t, frames, i) {
			return
		}
		if to, ok := s.value(&held, &s.caller); ok {
			w.proveBy(s, &frames[i-1], f, to)
		}
	}
}

// proveBy notes that the call of a frame went to the address that the caller holds, if that is the function of
// the callee, and which other calls are as good then.
func (w *Walker) proveBy(s *siblings, callee, frame *Frame, to uint64) {
	st, c := w.callOf(s.snap, callee, frame)
	v := &w.finder.verifier
	entry, mode := s.snap.Arch.SplitCode(to)
	site, kind := callsite.BeforeIn(s.snap, frame.Module, frame.PC, frame.Mode)
	if kind == callsite.Call && !site.Direct && v.reaches(st, c, entry, mode) == Yes {
		c.checks, c.entry, c.through = c.checks|TargetMatches, entry, &heldAddress{s, to}
		if frame.Checks&(OneBitAway|OneBitElsewhere) != 0 {
			c.checks |= v.oneBitAway(st, c, site)
		}
		frame.Checks, c.through = c.checks, nil
	}
	w.finder.account.pay(placeOf(callee.PC, callee.Mode, callee.Exact), st.Cost)
}

// heldAddress is the address that a call went to, and that the caller still holds.
type heldAddress struct {
	*siblings
	to uint64
}

// mayCall tells whether another call of m through a register may have gone to the address as well. A register that
// calls preserve tells; a word of memory may have changed, and if that is so or nothing is known, only a call of
// the same function may have (within).
func (h *heldAddress) mayCall(m *target.Module, site uint64, mode cpu.Mode, within bool) bool {
	held := h.finder.verifier.graph.Witnesses().CalledThrough(m, site, mode)
	v, ok := h.value(&held, &h.caller)
	return ok && v == h.to || within && (!ok || held.Kind != InRegister)
}

// word is a word of memory, or of an image where memory was not captured: of a table of functions, say. A
// word that holds an address was relocated with the image.
func (s *siblings) word(at uint64) (uint64, bool) {
	if v, ok := s.snap.Memory.Word(at); ok {
		return v, true
	}
	m, ok := s.snap.ModuleAt(at)
	if !ok || m.Image == nil {
		return 0, false
	}
	v, ok := m.Image.LoadedWord(m.ToImage(at) & s.snap.Arch.AddrMask())
	return m.ToTarget(v), ok
}
