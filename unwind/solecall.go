package unwind

import "github.com/backsight/backsight/target"

// maxLeaving bounds the frames of a walk whose functions' calls are looked at.
const maxLeaving = 32

// leaveOthersOut looks at frames whose call may or may not have led to the callee: to a function that ends in
// a jump through a pointer, as far as code tells. Where no other call of the function can have led there,
// that call did, if the frame is of that function; the frame is then worth what a frame behind a call
// through a pointer is worth.
//
//	#3  f   ◄─ call g: to #2's function                     proven
//	#2  g   ◄─ call h: h jumps to wherever a pointer says   in doubt
//	#1  k                                                   no other call in g can lead to k
//
// Where the call comes to the callee by a jump, that matters only behind a frame that stays in doubt.
func leaveOthersOut(snap *target.Snapshot, frames []Frame, graph CallGraph) {
	left, unclear := maxLeaving, false
	for i := len(frames) - 1; i > 0; i-- {
		f := &frames[i]
		if f.Checks.Proven() {
			unclear = false
		}
		ask := f.Checks.Has(TargetUnclear) && f.derived() && (unclear || !f.Checks.Has(TargetMatches))
		if ask && left > 0 {
			left--
			if graph.SoleCall(snap, &frames[i-1], f) {
				f.Checks |= SoleCall
				if !f.Checks.Has(TargetMatches) {
					f.Checks &^= TargetUnclear
				}
			}
		}
		unclear = unclear || f.Checks&targetChecks == TargetUnclear
	}
}
