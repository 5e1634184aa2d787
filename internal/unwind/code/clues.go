package code

import (
	"weak"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// pair is a callee's place and the return address to its caller, image addresses both.
type pair struct {
	callee       weak.Pointer[image.Image]
	pc, ra       uint64
	mode, raMode cpu.Mode
	exact        bool
	inner        uint64 // where the callee's own call led to, relative to the callee's place
	bias         uint64 // of the caller's image: which addresses differ in one bit depends on where that lies
}

// maxCallSteps bounds the instructions executed for the questions about one call. Most of the functions were
// analysed already, for the frames' rules.
const maxCallSteps = 1 << 19

// Clues implements unwind.Witnesses. What follows from the code of one image alone is kept.
func (w witnesses) Clues(snap *target.Snapshot, inner, callee, f *unwind.Frame) [][]unwind.Clue {
	_, p := moduleAt(w.src, snap, f.CallSite)
	m, calleeCode := moduleAt(w.src, snap, callee.CallSite)
	if p == nil || calleeCode == nil || f.Module == nil {
		return nil
	}
	k := pair{weak.Make(m.Image), inImage(m, callee.PC), inImage(f.Module, f.PC), callee.Mode, f.Mode, callee.Exact, 0, f.Module.Bias}
	if inner != nil && m.Contains(inner.CallSite) {
		k.inner = inner.CallSite - callee.PC
	} else {
		inner = nil
	}
	if c, ok := p.memos.clues.Find(k); ok {
		return c
	}
	call := frameCall{src: w.src, snap: snap, inner: inner, callee: callee, frame: f, prog: p, alone: true}
	list := call.clues(m, calleeCode)
	if call.steps > maxCallSteps {
		list = nil
	}
	if call.alone {
		p.memos.clues.Keep(k, list)
	}
	return list
}

// frameCall is the call of a frame, and what is asked of that: which values tell the call from its siblings,
// and whether another call may have led to the callee.
type frameCall struct {
	src           *Source
	snap          *target.Snapshot
	inner         *unwind.Frame // that the callee called in its own image, nil if it did not
	callee, frame *unwind.Frame
	prog          *program           // of the frame
	fn            *dataflow.Function // of the frame
	entry         disasm.Addr        // of the callee's function
	alone         bool               // code alone decides
	steps         int                // instructions executed
}

// clues are those of the frame.
func (c *frameCall) clues(m *target.Module, code *program) (list [][]unwind.Clue) {
	fn, st, ok := c.stateIn(code, m)
	if !ok {
		return nil
	}
	c.entry = disasm.Addr{PC: m.ToTarget(fn.Entry.PC), Mode: fn.Entry.Mode}
	site := disasm.Addr{PC: inImage(c.frame.Module, c.frame.CallSite), Mode: c.frame.Mode}
	c.fn = c.caller(site)
	own := passed{arch: c.prog.Arch}
	if c.fn == nil || !own.at(c.fn, site) {
		return nil
	}
	for _, other := range c.siblings() {
		o := passed{arch: c.prog.Arch}
		if !o.at(c.fn, disasm.Addr{PC: inImage(c.frame.Module, other.Addr), Mode: c.frame.Mode}) {
			return nil
		}
		straight := c.straight(&other)
		clues := kept(code.Arch, st, c.callee.Exact, &own, &o, straight)
		if clues = append(clues, stored(c.prog.Arch, &own, &o)...); len(clues) == 0 {
			return nil
		}
		list = append(list, clues)
	}
	return list
}

// caller is the function that makes the call at a site, nil if nobody knows.
func (c *frameCall) caller(site disasm.Addr) *dataflow.Function {
	if f := c.holding(c.prog, site); f != nil {
		return f
	}
	return pointedOwner(c.prog, site)
}

// holding is the function of the nearest certain entries that has a place, nil if none has.
func (c *frameCall) holding(p *program, at disasm.Addr) *dataflow.Function {
	for _, e := range p.entries.Below(at) {
		if c.steps > maxCallSteps {
			return nil
		}
		f := p.flows.Function(disasm.Addr{PC: e, Mode: at.Mode})
		if c.steps += f.Steps(); f.Contains(at.PC) && !f.ByGuess(at.PC) {
			return f
		}
	}
	return nil
}

// stateIn is the callee's function, and what holds in its frame in terms of the function's entry.
func (c *frameCall) stateIn(p *program, m *target.Module) (*dataflow.Function, *absint.State, bool) {
	at := disasm.Addr{PC: inImage(m, c.callee.CallSite), Mode: c.callee.Mode}
	fn := c.holding(p, at)
	if fn == nil {
		return nil, nil, false
	}
	st := new(absint.State)
	if c.callee.Exact {
		return fn, st, fn.StateAt(at, st)
	}
	if c.inner != nil && c.steps <= maxCallSteps && c.stateByTarget(p, m, fn.Entry, at, st) {
		return fn, st, true
	}
	return fn, st, fn.StateAfterCall(at, st)
}

// stateByTarget fills in what holds in the callee's frame at a call through a register: on those ways
// to the call on which that goes to the inner frame's function. false where that is not known.
func (c *frameCall) stateByTarget(p *program, m *target.Module, entry, at disasm.Addr, st *absint.State) bool {
	paths := targetsOf(p, at).paths
	some := false
	for i := range paths {
		if leads(c.src, c.snap, m, paths[i].Target, c.inner.CallSite) == unwind.No {
			continue
		}
		var way absint.State
		if paths[i].Entry != entry || !paths[i].StateAfterCall(&way) {
			return false
		}
		if some {
			st.Join(&way)
			continue
		}
		st.CopyFrom(&way)
		some = true
	}
	return some
}
