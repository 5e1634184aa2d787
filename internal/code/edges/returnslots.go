package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/target"
)

// KeepsReturnAt implements unwind.CallGraph. The stack heights of a function tell all places that
// its return address has, relative to SP.
func (w *Graph) KeepsReturnAt(snap *target.Snapshot, call cpu.CallSite, mode cpu.Mode, off int64) bool {
	walk := tailWalk{src: w, snap: snap}
	if !walk.addCallees(call, mode) {
		return true
	}
	for n := 0; n < walk.todo.n; n++ {
		if n == maxTailJumps || walk.mayKeepReturn(walk.todo.all[n], off) {
			return true
		}
	}
	return false
}

// addCallees adds all that a call may lead to, and tells whether that is known. Of calls through registers it is if
// constants tell, or an import's name.
func (w *tailWalk) addCallees(call cpu.CallSite, mode cpu.Mode) (known bool) {
	if call.Direct {
		w.todo.add(disasm.Addr{PC: call.Target, Mode: call.TargetMode})
		return true
	}
	m, p := moduleAt(w.src, w.snap, call.Addr)
	if p == nil {
		return false
	}
	at := disasm.Addr{PC: inImage(m, call.Addr), Mode: mode}
	switch c := callAt(p, at); {
	case c.bySlot && w.addBound(p, m, c.slot, 0, false):
		return true
	case c.known:
		w.todo.add(disasm.Addr{PC: m.ToTarget(c.to.PC), Mode: c.to.Mode})
		return true
	}
	t := targetsOf(p, at)
	w.addTails(m, t.known)
	return t.all
}

// mayKeepReturn tells whether the function at an entry may have its return address off bytes
// above SP, and adds those that the function jumps to.
func (w *tailWalk) mayKeepReturn(to disasm.Addr, off int64) bool {
	m, p := moduleAt(w.src, w.snap, to.PC)
	if p == nil {
		return true
	}
	entry := disasm.Addr{PC: inImage(m, to.PC), Mode: to.Mode}
	if slot, ok := importAt(p, entry); ok {
		return !w.addBound(p, m, slot, entry.PC, false)
	}
	f, table := p.Flows.Function(entry), p.Heights.Of(entry)
	if !f.Complete || table == nil || keepsReturn(p.Arch, table, off) {
		return true
	}
	w.addTails(m, f.Tails)
	return false
}

// returnSlot is where a function keeps its return address, relative to SP; below SP, where no frame
// has anything, if the return address is in its register.
func returnSlot(arch *cpu.Arch, t *heights.Table, r *heights.SavedRegs) (off int64, known bool) {
	switch {
	case arch.CallPushesRA:
		return -int64(r.SP), true
	case r.Saved.Has(arch.LR):
		return t.SlotOf(r, arch.LR) - int64(r.SP), true
	}
	return -int64(arch.RegSize), r.Kept.Has(arch.LR)
}

// importAt is the word that names the import to which the stub at an entry leads: the GOT entry
// that a PLT stub jumps through, or the lazy binding stub itself.
func importAt(p *program, entry disasm.Addr) (slot uint64, ok bool) {
	if slot, ok = p.Callees.StubSlot(entry); ok {
		return slot, true
	}
	return entry.PC, p.Callees.BindsLazily(entry)
}

// addBound adds where the stub of m at an image address leads, and tells whether that is known: by its GOT
// entry, if that was captured, else to all functions of the import's name. Where one of them chooses where
// calls go, all that it may choose are added, or the stub is not known to lead anywhere.
func (w *tailWalk) addBound(p *program, m *target.Module, slot, stub uint64, choices bool) (known bool) {
	if v, ok := w.snap.Memory.Word(m.ToTarget(slot)); ok && slot != stub {
		a, mode := p.Arch.SplitCode(v)
		w.todo.add(disasm.Addr{PC: a, Mode: mode})
		return true
	}
	for _, lib := range w.snap.Modules[:min(len(w.snap.Modules), maxExporters)] {
		if lib.Image == nil {
			continue
		}
		switch export, ok := p.Callees.Bound(slot, lib.Image); {
		case ok && export.Choices != nil && !choices:
			return false
		case ok && export.Choices != nil:
			known = true
			w.addTails(lib, export.Choices)
		case ok:
			known = true
			w.todo.add(disasm.Addr{PC: lib.ToTarget(export.PC), Mode: export.Mode})
		}
	}
	return known
}
