package edges

import (
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Callee implements stackwalk.CallGraph.
func (g *Graph) Callee(snap *target.Snapshot, site uint64, mode cpu.Mode) (uint64, cpu.Mode, bool) {
	all := capture{g, snap}
	p, ok := all.find(disasm.Addr{PC: site, Mode: mode})
	if !ok {
		return 0, 0, false
	}
	c := p.callAt(p.at)
	if to, ok := all.bound(p, c.slot); ok && c.bySlot {
		return to.PC, to.Mode, true
	}
	if !c.known {
		return 0, 0, false
	}
	return p.m.ToTarget(c.to.PC), c.to.Mode, true
}

// callAt is where the indirect call at a site goes, as far as the code tells. Walks ask again and again.
func (p *program) callAt(at disasm.Addr) (c calls) {
	if c, ok := p.memos.calls.Find(at); ok {
		return c
	}
	if f := p.owner(at); f != nil {
		c.slot, c.bySlot = f.CallSlot(at)
		c.to, c.known = f.CallTarget(at.PC)
	} else if f := p.nearest(at); f != nil {
		c.slot, c.bySlot = dataflow.LandingPadCallSlot(f, at)
	}
	p.memos.calls.Keep(at, c)
	return c
}

// MayCall implements stackwalk.CallGraph.
func (g *Graph) MayCall(snap *target.Snapshot, site uint64, mode cpu.Mode, pc uint64) stackwalk.Answer {
	all := capture{g, snap}
	p, ok := all.find(disasm.Addr{PC: site, Mode: mode})
	if !ok {
		return stackwalk.Unknown
	}
	if c := p.callAt(p.at); c.bySlot {
		if _, ok := p.Img.Import(c.slot); ok {
			return all.mayCallImport(p, c.slot, pc)
		}
	}
	t := p.targetsOf(p.at)
	answer := stackwalk.No
	if !t.all {
		answer = stackwalk.Unknown
	}
	first := t.below(inImage(p.m, pc))
	for k := range t.known {
		switch a := all.leads(p, t.known[(first+len(t.known)-k)%len(t.known)], pc); {
		case a == stackwalk.Yes:
			return a
		case a == stackwalk.YesByJump:
			answer = a
		case a != stackwalk.No && answer != stackwalk.YesByJump:
			answer = stackwalk.Unknown
		}
	}
	return answer
}

// mayCallImport is MayCall for a call through the word at an image address of p, which the dynamic linker binds
// by a name: to the functions of that name.
func (c capture) mayCallImport(p place, slot, pc uint64) stackwalk.Answer {
	to := c.namesake(p, slot, pc)
	if to.PC != 0 {
		if a, _, _ := c.Reaches(c.snap, to.PC, to.Mode, pc); a == stackwalk.Yes || a == stackwalk.YesByJump {
			return a
		}
	} else {
		walk := tailWalk{capture: c}
		if !walk.addImport(p, slot) {
			return stackwalk.Unknown
		}
		to = walk.todo.all[0]
	}
	if mayReach(c.Graph, c.snap, to.PC, to.Mode, pc) == stackwalk.No {
		return stackwalk.No
	}
	return stackwalk.Unknown
}

// below is the index of the target nearest below pc, whose function most likely has pc: where the
// answer is yes, no other function is analysed. 0 if there is none.
func (t *targets) below(pc uint64) int {
	n := sort.Search(len(t.known), func(i int) bool { return t.known[i].PC > pc })
	return max(n-1, 0)
}

// targetsOf are the targets of the call at a site.
func (p *program) targetsOf(site disasm.Addr) targets {
	if t, ok := p.memos.targets.Find(site); ok { // first, because Get's function is allocated
		return t
	}
	return p.memos.targets.Get(site, func() (t targets) {
		f := p.owner(site)
		if f == nil {
			return t
		}
		if t.known = dataflow.CallTargets(f, site); len(t.known) > 0 {
			t.all = true
			sort.Slice(t.known, func(i, j int) bool { return t.known[i].PC < t.known[j].PC })
			t.known = slices.Compact(t.known)
		} else if to, _ := f.CallTarget(site.PC); to.PC != 0 {
			t.known = []disasm.Addr{to}
		}
		return t
	})
}

// leads is Reaches for an entry in p's module. All places of a function are asked for alike, by its entry: to
// look for a jump that leads from one function into another is much work, and is kept.
func (c capture) leads(p place, to disasm.Addr, pc uint64) stackwalk.Answer {
	if p.m.Contains(pc) {
		at := disasm.Addr{PC: inImage(p.m, pc), Mode: to.Mode}
		if p.Flows.Function(to).Contains(at.PC) {
			return stackwalk.Yes
		}
		if f := p.nearest(at); f != nil && f.Contains(at.PC) {
			pc = p.m.ToTarget(f.Entry.PC)
		}
	}
	a, _, _ := c.Reaches(c.snap, p.m.ToTarget(to.PC), to.Mode, pc)
	return a
}

// KeepsReturnAt implements stackwalk.CallGraph. The stack heights of a function tell all places that
// its return address has, relative to SP.
func (g *Graph) KeepsReturnAt(snap *target.Snapshot, call cpu.CallSite, mode cpu.Mode, off int64) bool {
	w := tailWalk{capture: capture{g, snap}}
	return !w.addCallees(call, mode) || w.any(func(to disasm.Addr) bool { return w.mayKeepReturn(to, off) })
}

// addCallees adds all that a call may lead to, and tells whether that is known. Of calls through registers it is if
// constants tell, or an import's name.
func (w *tailWalk) addCallees(call cpu.CallSite, mode cpu.Mode) (known bool) {
	if call.Direct {
		w.todo.add(disasm.Addr{PC: call.Target, Mode: call.TargetMode})
		return true
	}
	p, ok := w.find(disasm.Addr{PC: call.Addr, Mode: mode})
	if !ok {
		return false
	}
	switch c := p.callAt(p.at); {
	case c.bySlot && w.addBound(p, c.slot, 0, false):
		return true
	case c.known:
		w.addTails(p.m, []disasm.Addr{c.to})
		return true
	}
	t := p.targetsOf(p.at)
	w.addTails(p.m, t.known)
	return t.all
}

// mayKeepReturn tells whether the function at an entry may have its return address off bytes
// above SP, and adds those that the function jumps to.
func (w *tailWalk) mayKeepReturn(to disasm.Addr, off int64) bool {
	p, ok := w.find(to)
	if !ok {
		return true
	}
	if slot, ok := p.importAt(p.at); ok {
		return !w.addBound(p, slot, p.at.PC, false)
	}
	f, table := p.Flows.Function(p.at), p.Heights.Of(p.at)
	if !f.Complete || table == nil || keepsReturn(p.Arch, table, off) {
		return true
	}
	w.addTails(p.m, f.Tails)
	return false
}
