package unwind

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// proveInTables finds out where indirect calls went that led to frames found by tables, where a doubt
// depends on that. Tables say nothing of calls, and need not; code for MIPS calls through registers
// wherever a call may leave the module.
func (w *Walker) proveInTables(snap *target.Snapshot, frames []Frame) {
	for i, left := 1, maxWeighed; i < len(frames) && left > 0; i++ {
		frame := &frames[i]
		if frame.Method.basis() == inTable && frame.Checks&(CallBefore|targetChecks|TargetDiffers|NoCall) == CallBefore && needsProof(frames, i) {
			left--
			w.proveCall(snap, &frames[i-1], frame)
		}
	}
}

// needsProof tells whether a doubt is left unless the call of frame i is proven:
//
//   - the frame's own: another call is one bit away, which is none to doubt for if it goes elsewhere;
//   - the callee's: a proven caller settles which function that is of (passOutwards);
//   - of an interrupted frame's PC, one lost bit makes another chain as good unless the call that led
//     there is proven, and the one before (doubtLostBits). MIPS16 code calls all functions that are
//     not MIPS16 through registers.
func needsProof(frames []Frame, i int) bool {
	f, callee := &frames[i], &frames[i-1]
	if i > 1 && (callee.Exact || i > 2 && frames[i-2].Exact) {
		return true
	}
	return f.Checks&(OneBitAway|OneBitElsewhere) != 0 || callee.Checks&(TargetUnclear|OneBitElsewhere) != 0 || callee.Trust < Certain
}

// proveCall notes that the call of a frame goes to the function of its callee, if code tells that, and which
// other calls are as good then. The walk is over: its state and the finder's candidate are free.
func (w *Walker) proveCall(snap *target.Snapshot, callee, frame *Frame) {
	s, c := callAgain(w, snap, callee, frame)
	v := &w.finder.verifier
	if a, entry, _ := v.callee(s, c, frame.CallSite); a == Yes {
		c.checks, c.entry = c.checks|TargetMatches, entry
		if site, kind := callsite.BeforeIn(snap, frame.Module, frame.PC, frame.Mode); kind == callsite.Call && frame.Checks&(OneBitAway|OneBitElsewhere) != 0 {
			c.checks |= v.oneBitAway(s, c, site)
		}
		frame.Checks = c.checks
	}
	w.finder.account.pay(placeOf(callee.PC, callee.Mode, callee.Exact), s.Cost)
}

// callAgain are the walk's state and the finder's candidate as they were when the frame was found, all doubts about
// its call left out.
func callAgain(w *Walker, snap *target.Snapshot, callee, frame *Frame) (*State, *candidate) {
	s, c := &w.frame, &w.finder.lost
	c.through = nil
	*s = State{Snapshot: snap, PC: callee.PC, Site: callee.CallSite, Mode: callee.Mode, Exact: callee.Exact, Module: callee.Module,
		Limit: w.finder.account.left()}
	c.evidence = evidence{pc: frame.PC, site: frame.CallSite, module: frame.Module, mode: frame.Mode, method: frame.Method,
		checks: frame.Checks &^ (OneBitAway | OneBitElsewhere)}
	return s, c
}
