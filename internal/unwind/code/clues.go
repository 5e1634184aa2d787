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

// maxTelling bounds the instructions executed for the clues of one frame. Most of the functions were
// analysed already, for the frames' rules.
const maxTelling = 1 << 19

// Clues implements unwind.Witnesses. They follow from code alone, and are kept.
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
	t := telling{src: w.src, snap: snap, inner: inner, callee: callee, frame: f, prog: p, alone: true}
	c := t.clues(m, calleeCode)
	if !t.alone || t.steps > maxTelling {
		c = nil
	}
	p.memos.clues.Keep(k, c)
	return c
}

// telling looks for what tells a call from its siblings.
type telling struct {
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
func (t *telling) clues(m *target.Module, code *program) (list [][]unwind.Clue) {
	fn, st, ok := t.stateIn(code, m)
	if !ok {
		return nil
	}
	t.entry = disasm.Addr{PC: m.ToTarget(fn.Entry.PC), Mode: fn.Entry.Mode}
	site := disasm.Addr{PC: inImage(t.frame.Module, t.frame.CallSite), Mode: t.frame.Mode}
	if t.fn = t.holding(t.prog, site); t.fn == nil {
		t.fn = pointedOwner(t.prog, site)
	}
	own := passed{arch: t.prog.Arch}
	if t.fn == nil || !own.at(t.fn, site) {
		return nil
	}
	for _, other := range t.siblings() {
		o := passed{arch: t.prog.Arch}
		if !o.at(t.fn, disasm.Addr{PC: inImage(t.frame.Module, other.Addr), Mode: t.frame.Mode}) {
			return nil
		}
		straight := t.straight(&other)
		clues := kept(code.Arch, st, t.callee.Exact, &own, &o, straight)
		if clues = append(clues, stored(t.prog.Arch, &own, &o)...); len(clues) == 0 {
			return nil
		}
		list = append(list, clues)
	}
	return list
}

// holding is the function of the nearest certain entries that has a place, nil if none has.
func (t *telling) holding(p *program, at disasm.Addr) *dataflow.Function {
	for _, e := range p.entries.Below(at) {
		if t.steps > maxTelling {
			return nil
		}
		f := p.flows.Function(disasm.Addr{PC: e, Mode: at.Mode})
		if t.steps += f.Steps(); f.Contains(at.PC) && !f.ByGuess(at.PC) {
			return f
		}
	}
	return nil
}

// stateIn is the callee's function, and what holds in its frame in terms of the function's entry.
func (t *telling) stateIn(p *program, m *target.Module) (*dataflow.Function, *absint.State, bool) {
	at := disasm.Addr{PC: inImage(m, t.callee.CallSite), Mode: t.callee.Mode}
	fn := t.holding(p, at)
	if fn == nil {
		return nil, nil, false
	}
	st := new(absint.State)
	if t.callee.Exact {
		return fn, st, fn.StateAt(at, st)
	}
	if t.inner != nil && t.steps <= maxTelling && t.stateByTarget(p, m, fn.Entry, at, st) {
		return fn, st, true
	}
	return fn, st, fn.StateAfterCall(at, st)
}

// stateByTarget fills in what holds in the callee's frame at a call through a register: on those ways
// to the call on which that goes to the inner frame's function. false where that is not known.
func (t *telling) stateByTarget(p *program, m *target.Module, entry, at disasm.Addr, st *absint.State) bool {
	paths := targetsOf(p, at).paths
	some := false
	for i := range paths {
		if leads(t.src, t.snap, m, paths[i].Target, t.inner.CallSite) == unwind.No {
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
