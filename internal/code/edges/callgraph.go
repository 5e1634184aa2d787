package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// reach is a question whether control comes from an entry to pc, both of one image.
type reach struct {
	entry disasm.Addr
	pc    uint64
}

// reachable is what a question cost, and the answer.
type reachable struct {
	unwind.Answer
	cost uint32
}

// moduleAt finds the code that lies at a target address: nil where no image has any.
func moduleAt(s *Graph, snap *target.Snapshot, pc uint64) (*target.Module, *program) {
	m, ok := snap.ModuleAt(pc)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return nil, nil
	}
	return m, s.of(m.Image)
}

// inImage is a target address in the terms of a module's image.
func inImage(m *target.Module, pc uint64) uint64 { return m.ToImage(pc) & m.Image.Arch.AddrMask() }

// Reaches implements unwind.CallGraph. What an image's code alone decides is kept.
func (s *Graph) Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (a unwind.Answer, alone bool, cost uint64) {
	m, p := moduleAt(s, snap, entry)
	if p == nil {
		return unwind.Unknown, false, 0
	}
	k := reach{disasm.Addr{PC: inImage(m, entry), Mode: mode}, inImage(m, pc)}
	if m.Contains(pc) {
		if r, ok := p.memos.reached.Find(k); ok {
			return r.Answer, true, uint64(r.cost)
		}
	}
	w := tailWalk{src: s, snap: snap, pc: pc, alone: true}
	a = w.from(disasm.Addr{PC: entry, Mode: mode})
	if w.alone {
		p.memos.reached.Keep(k, reachable{a, uint32(w.cost)})
	}
	return a, w.alone, uint64(w.cost)
}

// Stub implements unwind.CallGraph.
func (s *Graph) Stub(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (uint64, bool) {
	m, p := moduleAt(s, snap, entry)
	if p == nil {
		return 0, false
	}
	slot, ok := p.Callees.StubSlot(disasm.Addr{PC: inImage(m, entry), Mode: mode})
	if !ok {
		return 0, false
	}
	to, _ := p.binding(snap, m, slot, pc)
	return to.PC, to.PC != 0
}

// binding is where a PLT stub goes that jumps through the word at an image address. Its GOT
// entry tells, if that was captured; what the file holds there, before it is bound, leads to
// the dynamic linker. Else the name of the import does: enough to accept the function of
// that name where pc is (the answer for others stays Unknown: an indirect function's symbol
// is not where calls go). The result is a target address, 0 where nothing tells.
func (p *program) binding(snap *target.Snapshot, m *target.Module, slot uint64, pc uint64) (disasm.Addr, unwind.Answer) {
	if v, ok := snap.Memory.Word(m.ToTarget(slot)); ok {
		a, mode := p.Arch.SplitCode(v)
		return disasm.Addr{PC: a, Mode: mode}, unwind.No
	}
	return p.namesake(snap, slot, pc)
}

// namesake is where the import that the dynamic linker stores at an image address goes, if that is
// the function of its name in the image at pc.
func (p *program) namesake(snap *target.Snapshot, slot, pc uint64) (disasm.Addr, unwind.Answer) {
	lib, ok := snap.ModuleAt(pc)
	if !ok || lib.Image == nil {
		return disasm.Addr{}, unwind.Unknown
	}
	export, ok := p.Callees.Bound(slot, lib.Image)
	if !ok || export.Choices != nil {
		return disasm.Addr{}, unwind.Unknown
	}
	return disasm.Addr{PC: lib.ToTarget(export.PC), Mode: export.Mode}, unwind.Unknown
}

// choice is the function to which a PLT stub goes that jumps through the word at an image address,
// if one of those at pc was the dynamic linker's choice: memset's for the processor. The nearest
// one below pc has pc, or none has.
func (p *program) choice(snap *target.Snapshot, m *target.Module, slot, pc uint64) (to disasm.Addr, ok bool) {
	lib, found := snap.ModuleAt(pc)
	if !found || lib.Image == nil {
		return to, false
	}
	export, _ := p.Callees.Bound(slot, lib.Image)
	at := inImage(lib, pc)
	for _, c := range export.Choices {
		if c.PC <= at && (!ok || c.PC > to.PC) {
			to, ok = c, true
		}
	}
	to.PC = lib.ToTarget(to.PC)
	return to, ok
}

// Callee implements unwind.CallGraph.
func (s *Graph) Callee(snap *target.Snapshot, site uint64, mode cpu.Mode) (uint64, cpu.Mode, bool) {
	m, p := moduleAt(s, snap, site)
	if p == nil {
		return 0, 0, false
	}
	c := callAt(p, disasm.Addr{PC: inImage(m, site), Mode: mode})
	if c.bySlot {
		if v, ok := snap.Memory.Word(m.ToTarget(c.slot)); ok {
			to, toMode := p.Arch.SplitCode(v)
			return to, toMode, true
		}
	}
	if !c.known {
		return 0, 0, false
	}
	return m.ToTarget(c.to.PC), c.to.Mode, true
}

// calls is where an indirect call goes: through the word at slot, or to a place that constants tell.
type calls struct {
	slot          uint64
	to            disasm.Addr
	bySlot, known bool
}

// callAt is where the indirect call at a site goes, as far as the code tells. Walks ask again and again.
func callAt(p *program, at disasm.Addr) (c calls) {
	if c, ok := p.memos.calls.Find(at); ok {
		return c
	}
	if f := owner(p, at); f != nil {
		c.slot, c.bySlot = f.CallSlot(at)
		c.to, c.known = f.CallTarget(at.PC)
	} else if below := p.Entries.Below(at); len(below) > 0 {
		c.slot, c.bySlot = dataflow.PadCallSlot(p.Flows.Function(disasm.Addr{PC: below[0], Mode: at.Mode}), at)
	}
	p.memos.calls.Keep(at, c)
	return c
}

// OneFunction implements unwind.CallGraph. Yes takes a way through the code: where no entry is
// certain between the places, one of a function may lie there that only pointers lead to.
func (s *Graph) OneFunction(m *target.Module, a, b uint64, mode cpu.Mode) unwind.Answer {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return unwind.Unknown
	}
	p := s.of(m.Image)
	a, b = inImage(m, a), inImage(m, b)
	between := p.Entries.Next(min(a, b), min(a, b)) <= max(a, b)
	switch {
	case p.Entries.AllListed() && !between, !p.Entries.AllListed() && (p.holdsBoth(a, b, mode) || p.holdsBoth(b, a, mode)):
		return unwind.Yes
	case between:
		return unwind.No
	case p.flowHolds(a, a, b, mode) || p.flowHolds(b, a, b, mode):
		return unwind.Yes
	case twoCalls{p, mode}.apart(a, b):
		return unwind.No
	}
	if f := pointedOwner(p, disasm.Addr{PC: a, Mode: mode}); f != nil && f.Complete && !f.Contains(b) {
		return unwind.No
	}
	return unwind.Unknown
}

// holdsBoth tells whether control comes to both places in a function that has a, and whose
// entry is known.
func (p *program) holdsBoth(a, b uint64, mode cpu.Mode) bool {
	at := disasm.Addr{PC: a, Mode: mode}
	if table, _ := p.Heights.Proven(at); table != nil && table.At(b) != nil {
		return true
	}
	below := p.Entries.Below(at)
	return len(below) > 0 && p.flowHolds(below[0], a, b, mode)
}

// flowHolds tells whether control comes from one place to two others.
func (p *program) flowHolds(from, a, b uint64, mode cpu.Mode) bool {
	f := p.Flows.Function(disasm.Addr{PC: from, Mode: mode})
	return f.Contains(a) && f.Contains(b) && !f.ByGuess(a) && !f.ByGuess(b)
}

// StartsFunction implements unwind.CallGraph. Behind a call that comes back, the caller goes
// on, whatever seems to point there.
func (s *Graph) StartsFunction(m *target.Module, pc uint64, mode cpu.Mode, site cpu.CallSite) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	p, at := s.of(m.Image), disasm.Addr{PC: inImage(m, pc), Mode: mode}
	if p.Entries.IsEntry(at) {
		return p.mayNotReturn(m, site)
	}
	// Whose address is taken only a pass through all code tells: not asked where a function
	// is proven to go on behind the call with its frame.
	if _, frame := p.Heights.Proven(at); frame != nil && frame.SP != 0 {
		return false
	}
	return p.mayNotReturn(m, site) && !p.fillsUpTo(at) && p.Entries.AddressTaken(at)
}

// fillsUpTo tells whether filler stands at a place, up to where a function is known to begin:
// behind a call that ends a function because it never returns.
func (p *program) fillsUpTo(at disasm.Addr) bool {
	end := p.SkipPadding(at)
	return end > at.PC && p.Entries.IsEntry(disasm.Addr{PC: end, Mode: at.Mode})
}

// mayNotReturn tells whether a call goes to a function that never returns, or nobody knows
// where.
func (p *program) mayNotReturn(m *target.Module, site cpu.CallSite) bool {
	return !site.Direct || p.Callees.NeverReturns(disasm.Addr{PC: inImage(m, site.Target), Mode: site.TargetMode})
}

// maxBefore is how many bytes of code in front of a place are looked at.
const maxBefore = 64

// BehindSyscall implements unwind.CallGraph. It decodes from the first place in front of pc
// from which instructions lead there, so that the decoding has fallen into step on the way.
func (s *Graph) BehindSyscall(m *target.Module, pc uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	c := disasm.Of(m.Image)
	pc = inImage(m, pc)
	var buf [maxBefore]cpu.Insn
	for from := pc - maxBefore; from < pc; from += max(c.Arch.InsnAlign, 1) {
		n := c.Decode(disasm.Addr{PC: from, Mode: mode}, buf[:])
		for i, at := 0, from; i < n && at < pc; i++ {
			if at += uint64(buf[i].Len); at == pc {
				return buf[i].Op == cpu.OpSyscall
			}
		}
	}
	return false
}
