package scan

import (
	"github.com/backsight/backsight/internal/stackwalk"
)

const (
	// ownCode is how far behind PC, or ahead of it, a return address must lie
	// to be hardly one within the function that PC is in.
	ownCode = 4096
	// maxFrame is within how many words above SP a copy of LR counts as saved by
	// the frame at PC.
	maxFrame = 512
)

// link tries the link register of a topmost or interrupted frame. In a leaf, and
// elsewhere before the first call, it is the return address. After a call it still
// holds where that call returned to, a place in the function itself: such a value
// would give the function as its own caller. So without proof by the call's target
// only one that lies well away from PC counts, or in another function as symbols have it.
func (f Source) link(s *stackwalk.State, sp uint64, out *stackwalk.Caller) bool {
	arch := s.Snapshot.Arch
	raw, ok := s.Regs.Lookup(arch.LR)
	if !ok {
		return false
	}
	site, kind := f.classify(s, raw, sp)
	if kind == other || kind == atEnd || s.LinkSpent() {
		return false
	}
	switch f.reaches(s, &site, kind) {
	case stackwalk.No:
		return false
	case stackwalk.Unknown:
		pc, _ := arch.SplitCode(s.CodeAddress(raw))
		if near := pc-s.PC+ownCode < 2*ownCode; near || s.Module.Hollow() {
			if same := sameFunction(s, pc); same == stackwalk.Yes || near && same == stackwalk.Unknown {
				return false
			}
		}
	}
	unseen := kind == trampoline && f.unseen(s, raw) // whose frame lies at SP
	if h := f.saved(s, sp, raw); h.ok && !unseen {
		f.found(s, h, out)
		return true
	}
	*out = stackwalk.Caller{}
	if s.AtVector() { // no instruction has run since the interrupted one
		out.Regs = *s.Regs
		out.Regs.Forget(arch.LR)
	}
	out.Regs.Set(arch.PC, s.CodeAddress(raw))
	out.Regs.Set(arch.SP, sp)
	return true
}

// saved finds the slot where the frame's prologue put LR, if it has already run.
func (f Source) saved(s *stackwalk.State, sp, lr uint64) hit {
	left := maxFrame
	for slot, raw := range s.Words(sp, maxWords) {
		if raw == lr {
			return hit{slot, raw, true}
		}
		if left--; left == 0 {
			break
		}
	}
	return hit{}
}
