package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// Judge tells what speaks for and against frames that were not walked to: those that a capture lists, and those that
// calls lead to. One per goroutine.
type Judge struct {
	verifier verifier
	state    State
}

// NewJudge returns a judge of frames of thread t, which has opt's sources and call graph.
func NewJudge(snap *target.Snapshot, t *target.Thread, opt *Options) *Judge {
	j := &Judge{state: State{Snapshot: snap.Of(t), Thread: t, Regs: new(cpu.Registers), Limit: MaxCost}}
	j.verifier = verifier{graph: opt.CallGraph, isAhead: true}
	j.verifier.trampolines.sources = trampolinesOf(opt.Sources)
	j.verifier.starts.sources = opt.Sources
	return j
}

// Exhausted tells whether the questions of the judge have cost as much as a walk may.
func (j *Judge) Exhausted() bool { return j.state.Exhausted() }

// Caller is the frame at pc, a target address in code of a mode, as the caller of callee: an interrupted frame if exact,
// else one that a call returns to. Where callee is nil, or its code is not known, where calls go says nothing.
func (j *Judge) Caller(callee *Frame, m Method, pc uint64, mode cpu.Mode, exact bool) Frame {
	c := candidate{evidence: evidence{method: m, raw: pc, valid: true}}
	if j.state.Snapshot.Arch.ISABit {
		c.raw |= uint64(mode)
	}
	c.Exact = exact
	v, s := j.verifier, &j.state
	s.PC, s.Site, s.Mode, s.Exact, s.Module = 0, 0, 0, false, nil
	if callee != nil {
		s.PC, s.Site, s.Mode, s.Exact, s.Module = callee.PC, callee.CallSite, callee.Mode, callee.Exact, callee.Module
	}
	if callee == nil || !callee.CodeKnown() {
		v.graph = nil
	}
	v.gather(s, &c)
	f, checks := c.frame(), c.checks
	if checks.Has(NoCall) && callsite.Patched(c.module, c.pc, c.mode) {
		checks = checks&^NoCall | CallBefore | CodeMissing
	}
	if c.module == nil || c.module.Image == nil {
		checks |= CodeMissing
	}
	if checks != c.checks {
		f.Judge(checks)
	}
	return f
}

// IsCode tells whether code can run at a target address.
func (j *Judge) IsCode(pc uint64) bool {
	m, _ := j.state.Snapshot.ModuleAt(pc)
	return executable(j.state.Snapshot, pc, m).Has(Executable)
}

// AtTrampoline tells whether a frame is a signal trampoline, or the like.
func (j *Judge) AtTrampoline(f *Frame) bool { return j.verifier.trampolines.at(&j.state, f.PC, f.Mode) }

// CodeKnown tells whether the code of a frame can be looked at.
func (f *Frame) CodeKnown() bool {
	return f.Checks&Executable != 0 && f.Module != nil && f.Module.Image != nil
}
