package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxTailJumps bounds a chain of tail calls, PLT stubs among them.
const maxTailJumps = 12

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

// at finds the code that lies at a target address: nil where no image has any.
func (s *Source) at(snap *target.Snapshot, pc uint64) (*target.Module, *program) {
	m, ok := snap.ModuleAt(pc)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return nil, nil
	}
	return m, s.of(m.Image)
}

// inImage is a target address in the terms of a module's image.
func inImage(m *target.Module, pc uint64) uint64 { return m.ToImage(pc) & m.Image.Arch.AddrMask() }

// Reaches implements unwind.CallGraph. What an image's code alone decides is kept.
func (s *Source) Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (a unwind.Answer, alone bool, cost uint64) {
	m, p := s.at(snap, entry)
	if p == nil {
		return unwind.Unknown, false, 0
	}
	k := reach{disasm.Addr{PC: inImage(m, entry), Mode: mode}, inImage(m, pc)}
	if m.Contains(pc) {
		if r, ok := p.reached.Find(k); ok {
			return r.Answer, true, uint64(r.cost)
		}
	}
	w := tailWalk{src: s, snap: snap, pc: pc, alone: true}
	a = w.from(disasm.Addr{PC: entry, Mode: mode})
	if w.alone {
		p.reached.Keep(k, reachable{a, uint32(w.cost)})
	}
	return a, w.alone, uint64(w.cost)
}

// tailWalk follows tail calls in search of the function that has pc. Addresses are target
// addresses.
type tailWalk struct {
	src  *Source
	snap *target.Snapshot
	pc   uint64
	todo []disasm.Addr
	cost int // instructions executed
	// alone: nothing but the code of one image, that of the entry and pc, decided.
	alone bool
}

// from follows tail calls from an entry.
func (w *tailWalk) from(entry disasm.Addr) unwind.Answer {
	if w.thunk(entry) {
		return unwind.Anywhere
	}
	var room [2 * maxTailJumps]disasm.Addr
	w.todo = append(room[:0], entry)
	answer := unwind.No
	straight := 1 // so many of todo are the entry's function and what its stub goes to
	for n := 0; n < len(w.todo) && n < maxTailJumps; n++ {
		before := len(w.todo)
		a, stub := w.visit(w.todo[n])
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
	if len(w.todo) > maxTailJumps || answer == unwind.No && !w.src.elsewhere(w.snap, entry, w.pc) {
		return unwind.Unknown
	}
	return answer
}

// thunk tells whether the code at a place goes on to anywhere.
func (w *tailWalk) thunk(at disasm.Addr) bool {
	m, p := w.src.at(w.snap, at.PC)
	if p == nil || !disasm.Thunk(p.Code, disasm.Addr{PC: inImage(m, at.PC), Mode: at.Mode}) {
		return false
	}
	w.alone = m.Contains(w.pc)
	return true
}

// add appends a place, unless it is there.
func (w *tailWalk) add(to disasm.Addr) {
	if !slices.Contains(w.todo, to) {
		w.todo = append(w.todo, to)
	}
}

// visit answers for one function and adds where its tail calls go. stub: the function is
// nothing but a jump through memory.
func (w *tailWalk) visit(to disasm.Addr) (a unwind.Answer, stub bool) {
	m, p := w.src.at(w.snap, to.PC)
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
	f := p.flows.Function(entry)
	w.cost += f.Steps()
	if own && f.ByGuess(pc) {
		return unwind.Unknown, false
	}
	if own && f.Contains(pc) {
		return unwind.Yes, false
	}
	slot, isStub := p.callees.StubSlot(entry)
	if isStub {
		if to, a := p.binding(w.snap, m, slot, w.pc); to.PC != 0 {
			w.addTails(m, f.Tails)
			w.add(to)
			return a, true
		}
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
	return unwind.Unknown, false
}

func (w *tailWalk) addTails(m *target.Module, tails []disasm.Addr) {
	for _, t := range tails {
		w.add(disasm.Addr{PC: m.ToTarget(t.PC), Mode: t.Mode})
	}
}

// elsewhere tells whether pc certainly belongs to another function than the one at entry:
// only then is it evidence that entry's flow does not come there. Code that only the runtime
// jumps to (landing pads) is in no flow; it lies behind its function's entry, or, split off,
// near other code of the function.
func (s *Source) elsewhere(snap *target.Snapshot, entry disasm.Addr, pc uint64) bool {
	m, p := s.at(snap, pc)
	if p == nil {
		return false
	}
	a, e := inImage(m, pc), inImage(m, entry.PC)
	if a >= e && p.entries.Next(e, e) > a {
		return false
	}
	return !p.flows.Function(disasm.Addr{PC: e, Mode: entry.Mode}).Enters(a)
}

// Stub implements unwind.CallGraph.
func (s *Source) Stub(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (uint64, bool) {
	m, p := s.at(snap, entry)
	if p == nil {
		return 0, false
	}
	slot, ok := p.callees.StubSlot(disasm.Addr{PC: inImage(m, entry), Mode: mode})
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
	lib, ok := snap.ModuleAt(pc)
	if !ok || lib.Image == nil {
		return disasm.Addr{}, unwind.Unknown
	}
	export, ok := p.callees.Bound(slot, lib.Image)
	if !ok {
		return disasm.Addr{}, unwind.Unknown
	}
	return disasm.Addr{PC: lib.ToTarget(export.PC), Mode: export.Mode}, unwind.Unknown
}

// Callee implements unwind.CallGraph.
func (s *Source) Callee(snap *target.Snapshot, site uint64, mode cpu.Mode) (uint64, cpu.Mode, bool) {
	m, p := s.at(snap, site)
	if p == nil {
		return 0, 0, false
	}
	at := disasm.Addr{PC: inImage(m, site), Mode: mode}
	below := p.entries.Below(at)
	if len(below) == 0 {
		return 0, 0, false
	}
	f := p.flows.Function(disasm.Addr{PC: below[0], Mode: mode})
	if slot, ok := f.CallSlot(at); ok {
		if v, ok := snap.Memory.Word(m.ToTarget(slot)); ok {
			to, toMode := p.Arch.SplitCode(v)
			return to, toMode, true
		}
	}
	to, ok := f.CallTarget(at.PC)
	if !ok {
		return 0, 0, false
	}
	return m.ToTarget(to.PC), to.Mode, true
}

// OneFunction implements unwind.CallGraph: no certain entry lies between the places, or
// control comes from the function of one to the other.
func (s *Source) OneFunction(m *target.Module, a, b uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return true
	}
	p := s.of(m.Image)
	a, b = inImage(m, a), inImage(m, b)
	if p.entries.Next(min(a, b), min(a, b)) > max(a, b) {
		return true
	}
	return !p.entries.AllListed() && (p.holdsBoth(a, b, mode) || p.holdsBoth(b, a, mode))
}

// holdsBoth tells whether control comes to b in the function that has a.
func (p *program) holdsBoth(a, b uint64, mode cpu.Mode) bool {
	below := p.entries.Below(disasm.Addr{PC: a, Mode: mode})
	return len(below) > 0 && p.flows.Function(disasm.Addr{PC: below[0], Mode: mode}).Contains(b)
}

// StartsFunction implements unwind.CallGraph. Behind a call that comes back, the caller goes
// on, whatever seems to point there.
func (s *Source) StartsFunction(m *target.Module, pc uint64, mode cpu.Mode, site cpu.CallSite) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	p, at := s.of(m.Image), disasm.Addr{PC: inImage(m, pc), Mode: mode}
	if p.entries.IsEntry(at) {
		return p.mayNotReturn(m, site)
	}
	// Whose address is taken only a pass through all code tells: not asked where a function
	// is proven to go on behind the call with its frame.
	if _, frame := p.heights.Proven(at); frame != nil && frame.SP != 0 {
		return false
	}
	return p.mayNotReturn(m, site) && !p.fillsUpTo(at) && p.entries.AddressTaken(at)
}

// fillsUpTo tells whether filler stands at a place, up to where a function is known to begin:
// behind a call that ends a function because it never returns.
func (p *program) fillsUpTo(at disasm.Addr) bool {
	end := p.SkipPadding(at)
	return end > at.PC && p.entries.IsEntry(disasm.Addr{PC: end, Mode: at.Mode})
}

// mayNotReturn tells whether a call goes to a function that never returns, or nobody knows
// where.
func (p *program) mayNotReturn(m *target.Module, site cpu.CallSite) bool {
	return !site.Direct || p.callees.NeverReturns(disasm.Addr{PC: inImage(m, site.Target), Mode: site.TargetMode})
}

// maxBefore is how many bytes of code in front of a place are looked at.
const maxBefore = 64

// BehindSyscall implements unwind.CallGraph. It decodes from the first place in front of pc
// from which instructions lead there, so that the decoding has fallen into step on the way.
func (s *Source) BehindSyscall(m *target.Module, pc uint64, mode cpu.Mode) bool {
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
