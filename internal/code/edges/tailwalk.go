package edges

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
	src  *Graph
	snap *target.Snapshot
	pc   uint64
	todo places
	cost int // instructions executed
	// byName: each import is taken for the function of its name, or for what the dynamic linker does to bind it, and a
	// jump through a word that may change goes where the file has it.
	byName bool
	// alone: the entry and pc lie in one image, and the code of that image alone decided.
	alone bool
	// byPointer: some function on the way ends in a jump through a pointer.
	byPointer bool
}

// places are the distinct targets of tail calls. There is room for one more than are followed,
// which tells that the chain is too long.
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
	straight := 1 // how many of todo are the entry's function, or are reached by PLT stubs only
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

// thunk tells whether the code at a place goes on to any function, as retpolines do (disasm.Thunk).
func (w *tailWalk) thunk(at disasm.Addr) bool {
	m, p := moduleAt(w.src, w.snap, at.PC)
	if p == nil || !disasm.Thunk(p.Code, disasm.Addr{PC: inImage(m, at.PC), Mode: at.Mode}) {
		return false
	}
	w.alone = m.Contains(w.pc)
	return true
}

// visit answers for one function and adds where its tail calls go. Where the function jumps with its frame
// undone, another one may begin that nothing else tells of. stub: the function is nothing but a jump
// through memory.
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
	if slot, ok := importAt(p, entry); ok && w.byName && w.mayBind(m, slot) {
		return unwind.Unknown, true
	}
	if p.Callees.BindsLazily(entry) {
		return w.throughLinker(p, m, entry.PC), true
	}
	f := p.Flows.Function(entry)
	w.cost += f.Steps()
	if own && f.Contains(pc) {
		if f.ByGuess(pc) && !p.fits(f, pc) {
			return unwind.Unknown, false
		}
		if dataflow.MayHaveLeft(f, pc) {
			return unwind.YesByJump, false
		}
		return unwind.Yes, false
	}
	slot, isStub := p.Callees.StubSlot(entry)
	if isStub {
		if a, known := w.throughSlot(p, m, f, slot); known {
			return a, true
		}
		if w.addImport(p, m, slot) && w.byName {
			w.alone = false
			return unwind.No, true
		}
	}
	return w.leaves(m, f, isStub), false
}

// throughLinker answers for a stub of m at an image address that has the dynamic linker bind its
// import at each call (MIPS), and adds where the import goes.
func (w *tailWalk) throughLinker(p *program, m *target.Module, stub uint64) unwind.Answer {
	w.alone = false
	if to, a := p.namesake(w.snap, stub, w.pc); to.PC != 0 {
		w.todo.add(to)
		return w.named(a)
	}
	if w.addImport(p, m, stub) {
		return w.named(unwind.Unknown)
	}
	return unwind.Unknown
}

// named is the answer for a stub, the function of whose import's name is looked at as well.
func (w *tailWalk) named(a unwind.Answer) unwind.Answer {
	if w.byName {
		return unwind.No
	}
	return a
}

// throughSlot answers for a PLT stub f of m, which jumps through the word at an image address, and adds
// where the stub goes; known is false where neither the word nor the import's name tells.
func (w *tailWalk) throughSlot(p *program, m *target.Module, f *dataflow.Function, slot uint64) (a unwind.Answer, known bool) {
	if to, a := p.binding(w.snap, m, slot, w.pc); to.PC != 0 {
		w.addTails(m, f.Tails)
		w.todo.add(to)
		return w.named(a), true
	}
	if to, ok := p.choice(w.snap, m, slot, w.pc); ok {
		w.alone = false
		w.addTails(m, f.Tails)
		w.todo.add(to)
		return w.named(unwind.Unknown), true
	}
	return unwind.Unknown, false
}

// leaves answers for a function of m that does not have pc, and adds its tail calls. A direct jump
// from the function's code to the function that has pc makes the answer Yes. Where all of the
// flow was followed without coming to that jump, only the runtime may come there (the jump of a
// landing pad), and the answer is unknown.
func (w *tailWalk) leaves(m *target.Module, f *dataflow.Function, isStub bool) unwind.Answer {
	own := m.Contains(w.pc)
	jumps := own && f.JumpsTo(inImage(m, w.pc))
	if own && !f.Complete {
		w.cost += dataflow.JumpsCost
	}
	if jumps && !f.Complete {
		return unwind.YesByJump
	}
	w.alone = w.alone && !isStub
	w.addTails(m, f.Tails)
	if jumps || !f.Complete && !(w.byName && f.Followed) {
		return unwind.Unknown
	}
	return unwind.No
}

// fits tells whether code at pc, on its way to a return, undoes the frame that the function f has at a
// jump to an unknown place. Then pc is taken for a part of f: a label of an interpreter's
// computed gotos (_PyEval_EvalFrameDefault), or a case of a switch whose table nothing bounds.
// Code of another function would undo that function's frame.
func (p *program) fits(f *dataflow.Function, pc uint64) bool {
	at := disasm.Addr{PC: pc, Mode: f.Entry.Mode}
	var st absint.State
	if !f.StateAt(at, &st) || st.Regs[p.Arch.SP].IsStartOf(p.Arch.SP) {
		return false
	}
	for _, path := range p.Flows.ReturnPaths(at, false) {
		if way := rules.FromPath(&path, p.Arch); rules.Agrees(&st, &way, p.Arch) {
			return true
		}
	}
	return false
}

// maxExporters bounds the modules that are asked for an import.
const maxExporters = 64

// addImport adds the function that a stub of m jumps to through a word that was not captured: the
// function of the import's name in m or in another module. From there, tail calls may lead on to
// the function that has pc. Example: libcrypto calls its own exports through its PLT, and
// CRYPTO_malloc ends in a jump to malloc.
func (w *tailWalk) addImport(p *program, m *target.Module, slot uint64) (added bool) {
	if exported, added := w.addExport(p, m, slot); exported {
		return added
	}
	for _, lib := range w.snap.Modules[:min(len(w.snap.Modules), maxExporters)] {
		if lib == m {
			continue
		}
		if exported, added := w.addExport(p, lib, slot); exported {
			return added
		}
	}
	return false
}

// addExport adds what lib exports under the name of the import that p has at slot, unless the dynamic
// linker chooses among several functions.
func (w *tailWalk) addExport(p *program, lib *target.Module, slot uint64) (exported, added bool) {
	if lib.Image == nil {
		return false, false
	}
	export, ok := p.Callees.Bound(slot, lib.Image)
	added = ok && export.Choices == nil
	if added {
		w.todo.add(disasm.Addr{PC: lib.ToTarget(export.PC), Mode: export.Mode})
	}
	return ok, added
}

func (w *tailWalk) addTails(m *target.Module, tails []disasm.Addr) {
	for _, t := range tails {
		w.todo.add(disasm.Addr{PC: m.ToTarget(t.PC), Mode: t.Mode})
	}
}

// elsewhere tells whether w.pc certainly belongs to another function than the one at entry. Only
// then is it evidence against the call that control from entry does not come to w.pc: to landing
// pads, where only the runtime jumps to, control never comes. They lie behind the function's entry
// or, where the compiler split them off, near other code of the function.
func (w *tailWalk) elsewhere(entry disasm.Addr) bool {
	m, p := moduleAt(w.src, w.snap, w.pc)
	if p == nil {
		return false
	}
	a, e := inImage(m, w.pc), inImage(m, entry.PC)
	if a >= e && p.Entries.Next(e, e) > a {
		return false
	}
	return !p.Flows.Function(disasm.Addr{PC: e, Mode: entry.Mode}).Enters(a)
}
