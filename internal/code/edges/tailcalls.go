package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Reaches implements stackwalk.CallGraph. What an image's code alone decides is kept.
func (g *Graph) Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (a stackwalk.Answer, alone bool, cost uint64) {
	w := tailWalk{capture: capture{g, snap}, pc: pc, alone: true}
	p, ok := w.find(disasm.Addr{PC: entry, Mode: mode})
	if !ok {
		return stackwalk.Unknown, false, 0
	}
	q := question{reaches, p.at, inImage(p.m, pc)}
	if p.m.Contains(pc) {
		if r, ok := p.memos.reached.Find(q); ok {
			return r.Answer, true, uint64(r.n)
		}
	}
	a = w.from(disasm.Addr{PC: entry, Mode: mode})
	if w.alone {
		p.memos.reached.Keep(q, finding{a, uint32(w.cost)})
	}
	return a, w.alone, uint64(w.cost)
}

// mayReach is Reaches where imports are taken for the functions of their names, in whichever module, and jumps
// through words that may change go where the file has them. No is certain.
func mayReach(g *Graph, snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) stackwalk.Answer {
	walk := tailWalk{capture: capture{g, snap}, pc: pc, byName: true}
	return walk.from(disasm.Addr{PC: entry, Mode: mode})
}

// maxTailJumps bounds a chain of tail calls, PLT stubs among them.
const maxTailJumps = 12

// tailWalk follows tail calls in search of the function that has pc. Addresses are target
// addresses.
type tailWalk struct {
	capture
	pc   uint64
	todo places
	cost int // instructions executed
	// byName: each import is taken for the function of its name, or for the dynamic linker that binds the import. A
	// jump through a word that may change goes where the file's word leads.
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
func (w *tailWalk) from(entry disasm.Addr) stackwalk.Answer {
	if w.thunk(entry) {
		return stackwalk.Anywhere
	}
	w.todo.add(entry)
	answer := stackwalk.No
	straight := 1 // how many of todo are the entry's function, or are reached by PLT stubs only
	for n := 0; n < w.todo.n && n < maxTailJumps; n++ {
		before := w.todo.n
		a, stub := w.visit(w.todo.all[n])
		switch a {
		case stackwalk.Yes:
			if n >= straight {
				return stackwalk.YesByJump
			}
			return a
		case stackwalk.YesByJump:
			return a
		case stackwalk.Unknown:
			answer = a
		}
		if stub && straight == before {
			straight++
		}
	}
	if w.todo.n > maxTailJumps || answer == stackwalk.No && !w.elsewhere(entry) {
		return stackwalk.Unknown
	}
	return answer
}

// thunk tells whether the code at a place goes on to any function, as retpolines do (disasm.Thunk).
func (w *tailWalk) thunk(at disasm.Addr) bool {
	p, ok := w.find(at)
	if !ok || !p.answer(question{kind: goesAnywhere, at: p.at}, func() bool { return disasm.Thunk(p.Code, p.at) }) {
		return false
	}
	w.alone = p.m.Contains(w.pc)
	return true
}

// visit answers for one function and adds where its tail calls go. Where the function jumps with its frame
// undone, another one may begin that nothing else tells of. stub: the function is nothing but a jump
// through memory.
func (w *tailWalk) visit(to disasm.Addr) (a stackwalk.Answer, stub bool) {
	p, ok := w.find(to)
	if !ok {
		w.alone = false
		return stackwalk.Unknown, false
	}
	own := p.m.Contains(w.pc)
	w.alone = w.alone && own
	entry, pc := p.at, inImage(p.m, w.pc)
	if !p.Has(entry.PC) {
		return stackwalk.No, false
	}
	if slot, ok := p.importAt(entry); ok && w.byName && w.mayBind(p, slot) {
		return stackwalk.Unknown, true
	}
	if p.Callees.BindsLazily(entry) {
		return w.throughLinker(p, entry.PC), true
	}
	f := p.Flows.Function(entry)
	w.cost += f.Steps()
	if own && f.Contains(pc) {
		if f.ByGuess(pc) && !p.fits(f, pc) {
			return stackwalk.Unknown, false
		}
		if dataflow.MayHaveLeft(f, pc) {
			return stackwalk.YesByJump, false
		}
		return stackwalk.Yes, false
	}
	slot, isStub := p.Callees.StubSlot(entry)
	if isStub {
		if a, known := w.throughSlot(p, f, slot); known {
			return a, true
		}
		if w.addImport(p, slot) && w.byName {
			w.alone = false
			return stackwalk.No, true
		}
	}
	return w.leaves(p, f, isStub), false
}

// throughLinker answers for a stub of p at an image address that has the dynamic linker bind its
// import at each call (MIPS), and adds where the import goes.
func (w *tailWalk) throughLinker(p place, stub uint64) stackwalk.Answer {
	w.alone = false
	if to := w.namesake(p, stub, w.pc); to.PC != 0 {
		w.todo.add(to)
		return w.named(stackwalk.Unknown)
	}
	if w.addImport(p, stub) {
		return w.named(stackwalk.Unknown)
	}
	return stackwalk.Unknown
}

// named is the answer for a stub, the function of whose import's name is looked at as well.
func (w *tailWalk) named(a stackwalk.Answer) stackwalk.Answer {
	if w.byName {
		return stackwalk.No
	}
	return a
}

// throughSlot answers for a PLT stub f of p, which jumps through the word at an image address, and adds
// where the stub goes. known is false where neither the word nor the import's name tells.
func (w *tailWalk) throughSlot(p place, f *dataflow.Function, slot uint64) (a stackwalk.Answer, known bool) {
	if to, a := w.binding(p, slot, w.pc); to.PC != 0 {
		w.addTails(p.m, f.Tails)
		w.todo.add(to)
		return w.named(a), true
	}
	if to, ok := w.choice(p, slot, w.pc); ok {
		w.alone = false
		w.addTails(p.m, f.Tails)
		w.todo.add(to)
		return w.named(stackwalk.Unknown), true
	}
	return stackwalk.Unknown, false
}

// leaves answers for a function of p that does not have pc, and adds its tail calls. A direct jump
// from the function's code to the function that has pc makes the answer Yes. Where all of the
// flow was followed without coming to that jump, only the runtime may come there (the jump of a
// landing pad), and the answer is unknown.
func (w *tailWalk) leaves(p place, f *dataflow.Function, isStub bool) stackwalk.Answer {
	own, pc := p.m.Contains(w.pc), inImage(p.m, w.pc)
	jumps := own && p.answer(question{jumpsInto, f.Entry, pc}, func() bool { return f.JumpsTo(pc) })
	if own && !f.Complete {
		w.cost += dataflow.JumpsCost
	}
	if jumps && !f.Complete {
		return stackwalk.YesByJump
	}
	w.alone = w.alone && !isStub
	w.addTails(p.m, f.Tails)
	if jumps || !f.Complete && !(w.byName && f.Followed) {
		return stackwalk.Unknown
	}
	return stackwalk.No
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

// addImport adds the function that a stub of p jumps to through a word that was not captured. That is the
// function of the import's name in p's module or in another, unless the dynamic linker chooses among several. From
// there, tail calls may lead on to the function that has pc. Example: libcrypto calls its own exports through its
// PLT, and CRYPTO_malloc ends in a jump to malloc.
func (w *tailWalk) addImport(p place, slot uint64) (added bool) {
	w.exports(p, slot, func(lib *target.Module, export callee.Export) bool {
		if added = export.Choices == nil; added {
			w.addTails(lib, []disasm.Addr{export.Addr})
		}
		return false
	})
	return added
}

// addBound adds where the stub of p at an image address leads, and tells whether that is known: by its GOT
// entry, if that was captured, else to all functions of the import's name. Where one of them chooses where
// calls go, all that may be chosen are added, or the stub is not known to lead anywhere.
func (w *tailWalk) addBound(p place, slot, stub uint64, choices bool) (known bool) {
	if to, ok := w.bound(p, slot); ok && slot != stub {
		w.todo.add(to)
		return true
	}
	w.exports(p, slot, func(lib *target.Module, export callee.Export) bool {
		to := []disasm.Addr{export.Addr}
		if export.Choices != nil {
			to = export.Choices
		}
		if known = export.Choices == nil || choices; known {
			w.addTails(lib, to)
		}
		return known
	})
	return known
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
	p, ok := w.find(disasm.Addr{PC: w.pc})
	if !ok {
		return false
	}
	a, e := p.at.PC, inImage(p.m, entry.PC)
	if a >= e && p.Entries.Next(e, e) > a {
		return false
	}
	return !p.Flows.Function(disasm.Addr{PC: e, Mode: entry.Mode}).Enters(a)
}

// mayComeFrom tells whether control may come to w.pc as part of a call of entry. Imports are the functions of their
// names, whichever module the dynamic linker takes them from.
func (w *tailWalk) mayComeFrom(entry disasm.Addr) bool {
	w.todo.add(entry)
	return w.any(w.mayHave)
}

// any tells whether is holds for some function of those that tail calls lead to; is adds where a function's tail calls
// go. A chain that is too long counts.
func (w *tailWalk) any(is func(to disasm.Addr) bool) bool {
	for n := 0; n < w.todo.n; n++ {
		if n == maxTailJumps || is(w.todo.all[n]) {
			return true
		}
	}
	return false
}

// mayHave tells whether the function at an entry may have w.pc, or jump there, and adds those that the
// function jumps to.
func (w *tailWalk) mayHave(to disasm.Addr) bool {
	p, ok := w.find(to)
	if !ok || w.thunk(to) {
		return true
	}
	if slot, ok := p.importAt(p.at); ok {
		return w.mayBind(p, slot) || !w.addBound(p, slot, p.at.PC, true)
	}
	f := p.Flows.Function(p.at)
	w.cost, w.byPointer = w.cost+f.Steps(), w.byPointer || f.LeavesByPointer
	pc := disasm.Addr{PC: inImage(p.m, w.pc), Mode: to.Mode}
	if !f.Complete || p.m.Contains(w.pc) && (f.Contains(pc.PC) || !w.elsewhere(to) && !p.standsAlone(pc, p.at.PC)) {
		return true
	}
	w.addTails(p.m, f.Tails)
	return false
}

// mayBind tells whether a stub of p, which jumps through the word at an image address, may lead to w.pc to have its import
// bound: into the dynamic linker, a file that starts without another. Which word was there is not known.
func (w *tailWalk) mayBind(p place, slot uint64) bool {
	linker, ok := w.snap.ModuleAt(w.pc)
	_, captured := w.bound(p, slot)
	return !captured && ok && linker != p.m && linker.Image != nil && linker.Image.Entry != 0 && !linker.Image.Interpreted
}
