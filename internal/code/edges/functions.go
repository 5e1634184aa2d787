package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// beginnings are where the function at a place may be said to begin, with and without padding in front. They are the
// nearest certain entry, and the entry before where nothing but padding lies between.
// Unwind tables of arm64's modules begin behind the nops that a tracer can patch
// (-fpatchable-function-entry), 8 bytes into each function; what is called is the first nop. Linux for
// x86 has symbols for the padding in front of functions (CONFIG_CALL_PADDING): __pfx_vfs_write, 16 bytes before
// vfs_write; what is called is vfs_write.
func (p *program) beginnings(at disasm.Addr) (list []disasm.Addr) {
	for i, pc := range p.Entries.Below(at) {
		entry := disasm.Addr{PC: pc, Mode: at.Mode}
		if i > 1 || i == 1 && p.SkipPadding(entry) != list[0].PC {
			break
		}
		list = append(list, entry)
	}
	return list
}

// maxCallers bounds the functions that call one, and the calls of each: where there are more, leaving out all
// but one names no caller.
const maxCallers = 32

// nearest is the function of the nearest certain entry; nil where no entry is certain.
func (p *program) nearest(at disasm.Addr) *dataflow.Function {
	entry, ok := p.Entries.Nearest(at)
	if !ok {
		return nil
	}
	return p.Flows.Function(disasm.Addr{PC: entry, Mode: at.Mode})
}

// owner is the function that a place belongs to: of the nearest certain entry, or one that
// only pointers lead to. nil if there is none.
func (p *program) owner(at disasm.Addr) *dataflow.Function {
	if f := p.nearest(at); f != nil && f.Contains(at.PC) {
		return f
	}
	return p.pointedOwner(at)
}

// maxOwners bounds how many candidate entries are tried for the function of one place.
const maxOwners = 4

// pointedOwner is the function from the nearest candidate for an entry that has a place and stands on
// its own, nil if none does. Examples: a test that is called through a table of tests; a function of MIPS16
// code, whose direct calls are found in no pass through a mixed image. A label within a function
// does not stand on its own: code from there on pops what was never pushed.
func (p *program) pointedOwner(at disasm.Addr) *dataflow.Function {
	entries := p.Entries.CandidatesBelow(at)
	for _, e := range entries[:min(len(entries), maxOwners)] {
		f := p.Flows.Function(disasm.Addr{PC: e, Mode: at.Mode})
		if follows(f, at.PC) && f.Balanced && !f.Unbalanced && !f.ReadsPreserved {
			return f
		}
	}
	return nil
}

// standsAlone tells whether a place is in a function that stands on its own and does not have other.
// Then no landing pad of the one is in the other. Example: functions of cmake to which only pointers lead
// lie in front of a constructor that is called once; no entry is certain between.
func (p *program) standsAlone(at disasm.Addr, other uint64) bool {
	f := p.pointedOwner(at)
	return f != nil && f.Complete && !f.Contains(other)
}

// follows tells whether control comes to all places in a function, without a guess where a jump goes.
func follows(f *dataflow.Function, places ...uint64) bool {
	for _, pc := range places {
		if !f.Contains(pc) || f.ByGuess(pc) {
			return false
		}
	}
	return true
}

// flowHolds tells whether control comes from one place to others.
func (p *program) flowHolds(from uint64, mode cpu.Mode, places ...uint64) bool {
	return follows(p.Flows.Function(disasm.Addr{PC: from, Mode: mode}), places...)
}

// holding is the function to which control comes at the place, from one of the function's beginnings; nil where that
// is not known.
func (p place) holding() *dataflow.Function {
	for _, entry := range p.beginnings(p.at) {
		if fn := p.Flows.Function(entry); follows(fn, p.at.PC) {
			return fn
		}
	}
	return nil
}

// StartsFunction implements stackwalk.CallGraph. Behind a call that comes back, the caller goes
// on, whatever seems to point there.
func (g *Graph) StartsFunction(m *target.Module, pc uint64, mode cpu.Mode, site cpu.CallSite) bool {
	p, ok := g.in(m, pc, mode)
	if !ok {
		return false
	}
	if start, _, ok := p.Entries.Declared(p.at.PC); ok && start.PC != p.at.PC {
		return false
	}
	if p.Entries.IsEntry(p.at) {
		return p.mayNotReturn(m, site)
	}
	// Whose address is taken only a pass through all code tells: not asked where a function
	// is proven to go on behind the call with its frame.
	goesOn := func() bool {
		_, frame := p.Heights.Proven(p.at)
		return frame != nil && frame.SP != 0
	}
	named := func() bool { return !p.fillsUpTo(p.at) && p.Entries.AddressTaken(p.at) }
	return !p.answer(question{kind: goesOnHere, at: p.at}, goesOn) && p.mayNotReturn(m, site) && p.answer(question{kind: namedOnly, at: p.at}, named)
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

// StartHandsOn implements stackwalk.CallGraph. On i386 _start reads main's address from the GOT and
// pushes that: the stack has what the code does not tell.
func (g *Graph) StartHandsOn(m *target.Module, start, passed, pc uint64, mode cpu.Mode) bool {
	p, ok := g.in(m, pc, mode)
	if !ok {
		return false
	}
	first, ok := p.Pointer(m.Image.Entry)
	if !ok || !p.Flows.Function(first).Contains(inImage(m, start)) {
		return false
	}
	for _, key := range p.Entries.HandedOn() {
		if e := p.Addr(key); e.Mode == mode && p.flowHolds(e.PC, mode, p.at.PC) {
			return true
		}
	}
	e, ok := p.Pointer(inImage(m, passed))
	return ok && m.Contains(passed) && e.Mode == mode && p.flowHolds(e.PC, mode, p.at.PC)
}
