package code

import (
	"slices"

	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxTailJumps bounds a chain of tail calls, PLT stubs among them.
const maxTailJumps = 12

// tailWalk follows tail calls in search of the function that has pc. Addresses are target
// addresses.
type tailWalk struct {
	src  *Source
	snap *target.Snapshot
	pc   uint64
	todo places
	cost int // instructions executed
	// alone: nothing but the code of one image, that of the entry and pc, decided.
	alone bool
}

// places are where tail calls go, each once: one more than are followed, at most, which says that
// there are too many.
type places struct {
	all [maxTailJumps + 1]disasm.Addr
	n   int
}

func (l *places) add(to disasm.Addr) {
	if l.n < len(l.all) && !slices.Contains(l.all[:l.n], to) {
		l.all[l.n] = to
		l.n++
	}
}

// from follows tail calls from an entry.
func (w *tailWalk) from(entry disasm.Addr) unwind.Answer {
	if w.thunk(entry) {
		return unwind.Anywhere
	}
	w.todo.add(entry)
	answer := unwind.No
	straight := 1 // so many of todo are the entry's function and what its stub goes to
	for n := 0; n < w.todo.n && n < maxTailJumps; n++ {
		before := w.todo.n
		a, stub := w.visit(w.todo.all[n])
		switch a {
		case unwind.Yes:
			if n >= straight {
				return unwind.YesByJump
			}
			return a
		case unwind.YesByJump:
			return a
		case unwind.Unknown:
			answer = a
		}
		if stub && straight == before {
			straight++
		}
	}
	if w.todo.n > maxTailJumps || answer == unwind.No && !w.elsewhere(entry) {
		return unwind.Unknown
	}
	return answer
}

// thunk tells whether the code at a place goes on to anywhere.
func (w *tailWalk) thunk(at disasm.Addr) bool {
	m, p := moduleAt(w.src, w.snap, at.PC)
	if p == nil || !disasm.Thunk(p.Code, disasm.Addr{PC: inImage(m, at.PC), Mode: at.Mode}) {
		return false
	}
	w.alone = m.Contains(w.pc)
	return true
}

// visit answers for one function and adds where its tail calls go. stub: the function is
// nothing but a jump through memory.
func (w *tailWalk) visit(to disasm.Addr) (a unwind.Answer, stub bool) {
	m, p := moduleAt(w.src, w.snap, to.PC)
	if p == nil {
		w.alone = false
		return unwind.Unknown, false
	}
	own := m.Contains(w.pc)
	w.alone = w.alone && own
	entry, pc := disasm.Addr{PC: inImage(m, to.PC), Mode: to.Mode}, inImage(m, w.pc)
	if !p.Has(entry.PC) {
		return unwind.No, false
	}
	if p.callees.BindsLazily(entry) {
		w.alone = false
		if to, a := p.namesake(w.snap, entry.PC, w.pc); to.PC != 0 {
			w.todo.add(to)
			return a, true
		}
		w.addImport(p, m, entry.PC)
		return unwind.Unknown, true
	}
	f := p.flows.Function(entry)
	w.cost += f.Steps()
	if own && f.Contains(pc) {
		if f.ByGuess(pc) && !p.fits(f, pc) {
			return unwind.Unknown, false
		}
		return unwind.Yes, false
	}
	slot, isStub := p.callees.StubSlot(entry)
	if isStub {
		if to, a := p.binding(w.snap, m, slot, w.pc); to.PC != 0 {
			w.addTails(m, f.Tails)
			w.todo.add(to)
			return a, true
		}
		if to, ok := p.choice(w.snap, m, slot, w.pc); ok {
			w.alone = false
			w.addTails(m, f.Tails)
			w.todo.add(to)
			return unwind.Unknown, true
		}
		w.addImport(p, m, slot)
	}
	if f.Complete {
		w.addTails(m, f.Tails)
		w.alone = w.alone && !isStub
		if own && f.JumpsTo(pc) {
			return unwind.Unknown, false
		}
		return unwind.No, false
	}
	if own {
		w.cost += dataflow.JumpsCost
	}
	if own && f.JumpsTo(pc) {
		return unwind.YesByJump, false
	}
	w.alone = w.alone && !isStub
	w.addTails(m, f.Tails) // the jumps that are known
	return unwind.Unknown, false
}

// fits tells whether the frame with which a function jumps to nobody knows where is the one that
// code at pc undoes, on a way to a return: pc is behind that jump, at a label of an
// interpreter's computed gotos (_PyEval_EvalFrameDefault) or in a switch whose table nothing
// bounds. Code of another function would undo another function's frame.
func (p *program) fits(f *dataflow.Function, pc uint64) bool {
	at := disasm.Addr{PC: pc, Mode: f.Entry.Mode}
	var st absint.State
	if !f.StateAt(at, &st) || st.Regs[p.Arch.SP].IsStartOf(p.Arch.SP) {
		return false
	}
	for _, path := range p.flows.ReturnPaths(at, false) {
		if way := rules.FromPath(&path, p.Arch); rules.Agrees(&st, &way, p.Arch) {
			return true
		}
	}
	return false
}

// maxExporters bounds the modules that are asked for an import.
const maxExporters = 64

// addImport adds the function that a stub of m jumps to through a word that was not captured:
// m's own or another module's of the import's name, which may go on to the one that has pc.
// libcrypto calls what it exports through its PLT, and CRYPTO_malloc ends in a jump to malloc.
func (w *tailWalk) addImport(p *program, m *target.Module, slot uint64) {
	if w.addExport(p, m, slot) {
		return
	}
	for _, lib := range w.snap.Modules[:min(len(w.snap.Modules), maxExporters)] {
		if lib != m && w.addExport(p, lib, slot) {
			return
		}
	}
}

// addExport adds what lib exports under the name of the import that p has at slot.
func (w *tailWalk) addExport(p *program, lib *target.Module, slot uint64) bool {
	if lib.Image == nil {
		return false
	}
	export, ok := p.callees.Bound(slot, lib.Image)
	if ok && export.Choices == nil {
		w.todo.add(disasm.Addr{PC: lib.ToTarget(export.PC), Mode: export.Mode})
	}
	return ok
}

func (w *tailWalk) addTails(m *target.Module, tails []disasm.Addr) {
	for _, t := range tails {
		w.todo.add(disasm.Addr{PC: m.ToTarget(t.PC), Mode: t.Mode})
	}
}

// elsewhere tells whether w.pc certainly belongs to another function than the one at entry:
// only then is it evidence that entry's flow does not come there. Code that only the runtime
// jumps to (landing pads) is in no flow; it lies behind its function's entry, or, split off,
// near other code of the function.
func (w *tailWalk) elsewhere(entry disasm.Addr) bool {
	m, p := moduleAt(w.src, w.snap, w.pc)
	if p == nil {
		return false
	}
	a, e := inImage(m, w.pc), inImage(m, entry.PC)
	if a >= e && p.entries.Next(e, e) > a {
		return false
	}
	return !p.flows.Function(disasm.Addr{PC: e, Mode: entry.Mode}).Enters(a)
}
