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
// which caches of frames do not know. proven are the frames whose calls are proven so.
func (w *Walker) proveThrough(snap *target.Snapshot, t *target.Thread, frames []Frame) (proven []int) {
	var s *siblings
	graph := w.finder.verifier.graph
	for i, left := 1, maxWeighed; graph != nil && i < len(frames) && left > 0; i++ {
		f := &frames[i]
		if f.Checks&(CallBefore|targetChecks|TargetDiffers|NoCall) != CallBefore || f.Module == nil || !frames[i-1].HasCFA || !needsProof(frames, i) {
			continue
		}
		left--
		if s == nil {
			s = siblingsIn(w, snap)
			proven = s.proven[:0]
		}
		if s.hold(t, frames, i) && w.proveBy(s, &frames[i-1], f) {
			proven = append(proven, i)
		}
	}
	if s != nil {
		s.proven = proven
	}
	return proven
}

// hold finds the address that the caller in frame i still holds of its call through a register.
func (s *siblings) hold(t *target.Thread, frames []Frame, i int) bool {
	f := &frames[i]
	held := s.finder.verifier.graph.Witnesses().CalledThrough(f.Module, f.CallSite, f.Mode)
	if held.Kind == Anything || !s.recover(t, frames, i) {
		return false
	}
	to, ok := s.value(&held, &s.caller)
	s.held = heldAddress{to, held.Kind == InRegister}
	return ok
}

// proveBy notes that the call of a frame went to the address that the caller holds, if that is the function of
// the callee, and which other calls are as good then.
func (w *Walker) proveBy(at *siblings, callee, frame *Frame) (proven bool) {
	s, c := callAgain(w, at.snap, callee, frame)
	v := &w.finder.verifier
	entry, mode := at.snap.Arch.SplitCode(at.held.to)
	site, kind := callsite.BeforeIn(at.snap, frame.Module, frame.PC, frame.Mode)
	if proven = kind == callsite.Call && !site.Direct && v.reaches(s, c, entry, mode) == Yes; proven {
		c.checks, c.entry, c.through = c.checks|TargetMatches, entry, at
		if frame.Checks&(OneBitAway|OneBitElsewhere) != 0 {
			c.checks |= v.oneBitAway(s, c, site)
		}
		frame.Checks, c.through = c.checks, nil
	}
	w.finder.account.pay(placeOf(callee.PC, callee.Mode, callee.Exact), s.Cost)
	return proven
}

// heldAddress is the address that a call went to, and that the caller still holds.
type heldAddress struct {
	to         uint64
	inRegister bool
}

// mayCall tells whether another call of m through a register may have gone to the address as well: where the address
// is held by what that call went through. Of the same function (within) any may have whose register or word holds
// something else now, or nobody knows what, if the frame's own call went through a word of memory as well. In
// a register that calls preserve, the function's address would be by chance where another call was running.
// Example: xsltApplySequenceConstructor of libxslt for ARM calls through r7 at 0x1c9c4; at 0x1cbc4, through a pointer
// to a function that prints, r7 is something else.
func (s *siblings) mayCall(m *target.Module, site uint64, mode cpu.Mode, within bool) bool {
	held := s.finder.verifier.graph.Witnesses().CalledThrough(m, site, mode)
	v, ok := s.value(&held, &s.caller)
	return ok && v == s.held.to || within && !s.held.inRegister && (!ok || held.Kind != InRegister)
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
