package unwind

import "github.com/backsight/backsight/target"

// proveBehindInterrupted finds out where the indirect calls went that led to an interrupted frame, and
// to the function which called that frame's. Tables say nothing of calls, and need not; but one lost
// bit of an interrupted PC makes another chain as good unless both calls are proven (doubtLostBits).
// MIPS16 code calls all functions that are not MIPS16 through registers.
func (v *verifier) proveBehindInterrupted(snap *target.Snapshot, frames []Frame) {
	for i, left := 2, maxWeighed; i < len(frames) && left > 0; i++ {
		f, callee := &frames[i], &frames[i-1]
		interrupted := callee.Exact || i > 2 && frames[i-2].Exact && !callee.Exact
		if !interrupted || f.Method.basis() != inTable || f.Checks&(CallBefore|targetChecks|TargetDiffers|NoCall) != CallBefore {
			continue
		}
		left--
		entry, mode, ok := v.graph.Callee(snap, f.CallSite, f.Mode)
		if !ok {
			continue
		}
		if a, _, _ := v.graph.Reaches(snap, entry, mode, callee.CallSite); a == Yes {
			f.Checks |= TargetMatches
		}
	}
}
