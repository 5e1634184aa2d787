package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// MatchListed finds the walked frames in the list of a capture, in order: entries[i] is the index of frame i, −1 where the
// list lacks the frame. next is behind the last entry that was found.
func MatchListed(graph CallGraph, listed []target.Listed, frames []unwind.Frame) (entries []int, next int) {
	entries = make([]int, len(frames))
	for i := range frames {
		entries[i] = -1
		for k := next; k < len(listed); k++ {
			if isListed(graph, &listed[k], &frames[i]) {
				entries[i], next = k, k+1
				break
			}
		}
	}
	return entries, next
}

// isListed tells whether an entry is a frame: of the same address, or of the function that the entry names alone.
func isListed(graph CallGraph, l *target.Listed, f *unwind.Frame) bool {
	if l.PC != 0 || l.Entry == 0 {
		return l.PC != 0 && l.PC == f.PC
	}
	return graph != nil && CodeKnown(f) && f.Module.Contains(l.Entry) && graph.OneFunction(f.Module, l.Entry, f.CallSite, f.Mode) == Yes
}

// listedBehind are the frames that t lists behind those that were walked, which chains to the entry of the kernel pass.
// root: the entry is listed right behind the last of them. ok is false where one of them has no code, that of a module
// that is not at hand: nothing tells what it calls, nor how many bytes it keeps on the stack.
func listedBehind(graph CallGraph, snap *target.Snapshot, t *target.Thread, walked []unwind.Frame) (on []target.Listed, root, ok bool) {
	_, next := MatchListed(graph, t.Listed, walked)
	for _, l := range t.Listed[next:] {
		switch {
		case l.Around:
			return on, false, true
		case l.Outermost:
			return on, !l.Gap && !l.Doubtful, true
		case l.Doubtful || l.Searched || snap.IsHook(l.PC):
			continue
		}
		if m, known := snap.ModuleAt(l.PC); l.PC == 0 || !known || m.Image == nil {
			return nil, false, false
		}
		on = append(on, l)
	}
	return on, false, true
}

// Judge tells what speaks for and against frames that were not walked to: those that a capture lists, and those that
// calls lead to. One per goroutine.
type Judge struct {
	verifier verifier
	state    State
	regs     cpu.Registers // of frames that were not walked to: none is known
}

// NewJudge returns a judge of frames of thread t, which has opt's sources and call graph.
func NewJudge(snap *target.Snapshot, t *target.Thread, opt *Options) *Judge {
	j := &Judge{state: State{Snapshot: snap.Of(t), Thread: t, Limit: MaxCost}}
	j.state.Regs = &j.regs
	j.verifier = verifier{graph: opt.CallGraph, isAhead: true}
	j.verifier.starts.lists = newSourceLists(opt)
	j.verifier.trampolines.sources = j.verifier.starts.lists.trampolines
	return j
}

// Exhausted tells whether the questions of the judge have cost as much as a walk may.
func (j *Judge) Exhausted() bool { return j.state.Exhausted() }

// Caller is the frame at pc, a target address in code of a mode, as the caller of callee: an interrupted frame if exact,
// else one that a call returns to. Where callee is nil, or its code is not known, where calls go says nothing.
func (j *Judge) Caller(callee *unwind.Frame, m unwind.Method, pc uint64, mode cpu.Mode, exact bool) unwind.Frame {
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
	if callee == nil || !CodeKnown(callee) {
		v.graph = nil
	}
	v.gather(s, &c)
	f, checks := c.frame(), c.checks
	if checks.Has(unwind.NoCall) && callsite.Patched(c.module, c.pc, c.mode) {
		checks = checks&^unwind.NoCall | unwind.CallBefore | unwind.CodeMissing
	}
	if c.module == nil || c.module.Image == nil {
		checks |= unwind.CodeMissing
	}
	if checks != c.checks {
		SetChecks(&f, checks)
	}
	return f
}

// IsCode tells whether code can run at a target address.
func (j *Judge) IsCode(pc uint64) bool {
	m, _ := j.state.Snapshot.ModuleAt(pc)
	return executable(j.state.Snapshot, pc, m).Has(unwind.Executable)
}

// CodeKnown tells whether the code of a frame can be looked at.
func CodeKnown(f *unwind.Frame) bool {
	return f.Checks&unwind.Executable != 0 && f.Module != nil && f.Module.Image != nil
}

// FrameSizes tells how many bytes lie between SP and CFA in those frames whose CFA is not known, by their indices, as far
// as code or tables alone tell. Of a chain that a kernel lists no stack may be printed, but on arm64 vfs_write keeps
// 160 bytes there wherever the function is called. The cost of code
// analysis is bounded.
func FrameSizes(snap *target.Snapshot, sources []Source, frames []unwind.Frame) map[int]uint64 {
	sizes, asked := make(map[int]uint64), make(map[place]int) // the first frame at a place
	z := sizing{snap: snap, sources: sources, left: maxSizingCost}
	for i := range frames {
		f := &frames[i]
		if f.HasCFA || f.Module == nil {
			continue
		}
		at := placeOf(f.PC, f.Mode, f.Exact)
		first, again := asked[at]
		if !again {
			first, asked[at] = i, i
			if size, ok := z.of(f); ok {
				sizes[i] = size
			}
		}
		if size, ok := sizes[first]; ok {
			sizes[i] = size
		}
	}
	return sizes
}

// maxSizingCost bounds what the sizes of a backtrace's frames may cost, in instructions that code analysis executes: a
// kernel's function takes some hundred.
const maxSizingCost = 1 << 20

// sizing finds the sizes of frames. left is what that may still cost.
type sizing struct {
	snap    *target.Snapshot
	sources []Source
	left    uint64
}

// of is the size of a frame as the first source tells it whose rule finds the CFA by SP.
func (z *sizing) of(f *unwind.Frame) (size uint64, ok bool) {
	q, covered := queryOf(&State{Snapshot: z.snap, PC: f.PC, Mode: f.Mode, Exact: f.Exact, Module: f.Module})
	for _, src := range z.sources {
		rules, isRule := src.(RuleSource)
		if !covered || !isRule || z.left == 0 {
			continue
		}
		var rule Rule
		q.Cost = 0
		verdict := rules.Rule(&q, &rule)
		z.left -= min(q.Cost, z.left)
		cfa := &rule.CFA
		if verdict == unwind.Found && rule.Flags&(Fallback|Inferred) == 0 && cfa.Kind == RegPlus && cfa.Base == q.Arch.SP && cfa.Off >= 0 {
			return uint64(cfa.Off), true
		}
	}
	return 0, false
}
