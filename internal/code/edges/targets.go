package edges

import (
	"cmp"
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// MayCall implements unwind.CallGraph.
func (w *Graph) MayCall(snap *target.Snapshot, site uint64, mode cpu.Mode, pc uint64) unwind.Answer {
	m, p := moduleAt(w, snap, site)
	if p == nil {
		return unwind.Unknown
	}
	at := disasm.Addr{PC: inImage(m, site), Mode: mode}
	if c := callAt(p, at); c.bySlot {
		if _, ok := p.Img.Import(c.slot); ok {
			return w.mayCallImport(snap, m, p, c.slot, pc)
		}
	}
	t := targetsOf(p, at)
	answer := unwind.No
	if !t.all {
		answer = unwind.Unknown
	}
	first := t.below(inImage(m, pc))
	for k := range t.known {
		switch a := leads(w, snap, m, t.known[(first+len(t.known)-k)%len(t.known)], pc); {
		case a == unwind.Yes:
			return a
		case a == unwind.YesByJump:
			answer = a
		case a != unwind.No && answer != unwind.YesByJump:
			answer = unwind.Unknown
		}
	}
	return answer
}

// mayCallImport is MayCall for a call through the word at an image address of m, which the dynamic linker binds
// by a name: to the functions of that name.
func (w *Graph) mayCallImport(snap *target.Snapshot, m *target.Module, p *program, slot, pc uint64) unwind.Answer {
	to, _ := p.namesake(snap, slot, pc)
	if to.PC != 0 {
		if a, _, _ := w.Reaches(snap, to.PC, to.Mode, pc); a == unwind.Yes || a == unwind.YesByJump {
			return a
		}
	} else {
		walk := tailWalk{src: w, snap: snap}
		if !walk.addImport(p, m, slot) {
			return unwind.Unknown
		}
		to = walk.todo.all[0]
	}
	if mayReach(w, snap, to.PC, to.Mode, pc) == unwind.No {
		return unwind.No
	}
	return unwind.Unknown
}

// mayReach is Reaches where imports are taken for the functions of their names, in whichever module, and jumps
// through words that may change go where the file has them. No is certain.
func mayReach(src *Graph, snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) unwind.Answer {
	walk := tailWalk{src: src, snap: snap, pc: pc, byName: true}
	return walk.from(disasm.Addr{PC: entry, Mode: mode})
}

// targets are where a call through a register may go.
type targets struct {
	known []disasm.Addr // sorted by address
	all   bool          // there are no others
}

// kept is what the memory of the targets counts for, in words.
func (t targets) kept() int { return 1 + len(t.known) }

// below is the index of the target nearest below pc, whose function most likely has pc: where the
// answer is yes, no other function is analysed. 0 if there is none.
func (t *targets) below(pc uint64) int {
	n := sort.Search(len(t.known), func(i int) bool { return t.known[i].PC > pc })
	return max(n-1, 0)
}

// targetsOf are the targets of the call at a site.
func targetsOf(p *program, site disasm.Addr) targets {
	if t, ok := p.memos.targets.Find(site); ok { // first, because Get's function is allocated
		return t
	}
	return p.memos.targets.Get(site, func() (t targets) {
		f := owner(p, site)
		if f == nil {
			return t
		}
		if t.known = dataflow.CallTargets(f, site); len(t.known) > 0 {
			t.all = true
			slices.SortFunc(t.known, func(a, b disasm.Addr) int { return cmp.Compare(a.PC, b.PC) })
			t.known = slices.Compact(t.known)
		} else if to, _ := f.CallTarget(site.PC); to.PC != 0 {
			t.known = []disasm.Addr{to}
		}
		return t
	})
}

// leads is Reaches for an entry of m. All places of a function are asked for alike, by its entry: to
// look for a jump that leads from one function into another is much work, and is kept.
func leads(s *Graph, snap *target.Snapshot, m *target.Module, to disasm.Addr, pc uint64) unwind.Answer {
	if p := s.of(m.Image); m.Contains(pc) {
		at := disasm.Addr{PC: inImage(m, pc), Mode: to.Mode}
		if p.Flows.Function(to).Contains(at.PC) {
			return unwind.Yes
		}
		if below := p.Entries.Below(at); len(below) > 0 && p.Flows.Function(disasm.Addr{PC: below[0], Mode: at.Mode}).Contains(at.PC) {
			pc = m.ToTarget(below[0])
		}
	}
	a, _, _ := s.Reaches(snap, m.ToTarget(to.PC), to.Mode, pc)
	return a
}
