package unwind

import "github.com/backsight/backsight/internal/callsite"

// maxLeadingOn bounds the frames that are followed from another function's call.
const maxLeadingOn = 8

// mayLeadOn tells whether the frames behind another call, its stack pointer at the callee's CFA, may be frames: each
// has a return address behind a call that may have led to its function, or nobody knows. The scratch has the rule of the
// first, whose caller must be proven where the frame's own is.
//
// Where the first one has its return address, another word that follows a call may lie by chance; further out there
// would have to be another one. Had that call been running, all of its frames would be there. Example:
// _PyObject_MakeTpCall of python3 for AArch64 calls through a register at 0x94170, and _PyObject_Call at 0x94970,
// whose frame is larger: its return address would be that of a call in _PyObject_FastCallDictTstate, but nothing follows
// a call where that function has its own.
func (e *elsewhere) mayLeadOn(n callsite.Neighbour) bool {
	sp, r, at := e.callee.CFA, &e.starts.scratch.rule, &e.starts.scratch.at
	*at = State{Snapshot: e.snap, PC: n.PC, Site: n.Call.Addr, Mode: e.frame.Mode, Module: n.Module}
	unclear := !e.settled
	for range maxLeadingOn {
		switch e.callerBy(r, at, sp, unclear) {
		case No:
			return false
		case Unknown:
			return unclear
		}
		sp, unclear = sp+uint64(r.CFA.Off), true
		if e.joins(at, sp) || e.graph.EndsThread(at.Module, at.PC, at.Mode) || !e.ruleAt(at.Module, at.PC, at.Mode, r) || !undoubted(r) {
			return true
		}
		e.cost += e.starts.scratch.query.Cost
	}
	return true
}

// callerBy makes of at, a frame whose stack pointer is sp, its caller by a rule. No: what lies where the return address
// should be is none of a call that led there, or, if unclear, that may have. Unknown: nobody knows what does.
func (e *elsewhere) callerBy(r *Rule, at *State, sp uint64, unclear bool) Answer {
	arch := e.snap.Arch
	if r.CFA.Kind != RegPlus || r.CFA.Base != arch.SP || r.RA.Kind != AtCFA || r.Flags&SignedRA != 0 {
		return Unknown
	}
	word, ok := e.snap.Memory.Uint((sp+uint64(r.CFA.Off+r.RA.Off))&arch.AddrMask(), arch.RegSize)
	if !ok {
		return Unknown
	}
	pc, mode := arch.SplitCode(word & arch.AddrMask())
	if e.trampolines.at(at, word, mode) {
		return Unknown
	}
	m, ok := e.snap.ModuleAt(pc - 1)
	if !ok {
		return No
	}
	call, kind := callsite.BeforeIn(e.snap, m, pc, mode)
	switch {
	case kind == callsite.Missing:
		return Unknown
	case kind == callsite.NoCall || !e.mayLead(call, mode, unclear, *at):
		return No
	}
	*at = State{Snapshot: e.snap, PC: pc, Site: call.Addr, Mode: mode, Module: m}
	return Yes
}

// joins tells whether a frame whose stack pointer is sp is one of those behind the frame.
func (e *elsewhere) joins(at *State, sp uint64) bool {
	callee := e.frame
	for i := range e.further {
		if f := &e.further[i]; f.PC == at.PC && callee.HasCFA && callee.CFA == sp {
			return true
		}
		callee = &e.further[i]
	}
	return false
}

// undoubted tells whether nothing casts doubt on a rule: a table has that, or two derivations agree from a known entry.
func undoubted(r *Rule) bool {
	const doubts = Fallback | Inferred | Abandoned | SavedTwice | SignalFrame | ExceptionFrame
	return r.Flags&doubts == 0 && (r.Flags&StartStated != 0 || r.Flags&(FromEntry|Agreed) == FromEntry|Agreed)
}
