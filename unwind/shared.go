package unwind

import (
	"math"
	"slices"

	"github.com/backsight/backsight/target"
)

// known is a module and the facts of its image, nil where they cannot be used.
type known struct {
	module *target.Module
	facts  *facts
	index  uint16 // in Snapshot.Modules
}

// biasUnit divides all biases: the low bits of an address, its ISA mode among them, are
// the same in the image.
const biasUnit = 1 << 12

// known looks a module up; a walk goes from one to another and back.
func (w *Walker) known(m *target.Module) known {
	k := &w.near
	switch {
	case m == k[0].module:
	case m == k[1].module:
		k[0], k[1] = k[1], k[0]
	default:
		k[0], k[1] = w.facts(m), k[0]
	}
	return k[0]
}

// facts are those of a module. They presume that code is where the image has it.
func (w *Walker) facts(m *target.Module) known {
	k := known{module: m}
	i := slices.Index(w.snap.Modules, m)
	if w.opt.Shared == nil || m.Image == nil || m.Image.Arch != w.snap.Arch || m.Bias%biasUnit != 0 || uint(i) > math.MaxUint16 || !whole(m) {
		return k
	}
	f := m.Image.Memo(w.opt.Shared, func() any { return new(facts) }).(*facts)
	if f.table.Load() == nil {
		f.open(w.opt.Shared)
	}
	if f.id != 0 {
		k.facts, k.index = f, uint16(i)
	}
	return k
}

// whole tells whether all code of a module's image is mapped.
func whole(m *target.Module) bool {
	for i := range m.Image.Segments {
		s := &m.Image.Segments[i]
		if at := m.ToTarget(s.Addr); s.Exec && (!m.Contains(at) || !m.Contains(at+s.Size-1)) {
			return false
		}
	}
	return true
}

// recall finds what other walkers know of a place in m, and of its return address unless
// that is 0: nil if nothing. It is kept where it comes up again. The caller of the first
// return address has back 0 where it lies in another image: only the rule is known then.
func (w *Walker) recall(at ruleKey, ra uint64, m *target.Module) (*cachedRule, *Packed) {
	of := w.known(m)
	if of.facts == nil {
		return nil, nil
	}
	in, mask := of, w.snap.Arch.AddrMask()
	if pc, _ := w.snap.Arch.SplitCode(ra); ra != 0 && !m.Contains(pc-1) {
		other, ok := w.snap.ModuleAt(pc - 1)
		if !ok {
			return nil, nil
		}
		if in = w.known(other); in.facts == nil {
			return nil, nil
		}
	}
	t, p := *of.facts.table.Load(), ruleKey{m.ToImage(at.pc) & mask, at.kind}
	r := t.first(p)
	if ra != 0 {
		r = t.find(p, in.module.ToImage(ra)&mask, in.facts.id)
	}
	if r == nil {
		return nil, nil
	}
	w.recalled = *r
	c := &w.recalled.caller
	if c.module != in.facts.id {
		c.back = 0
		return &w.recalled, &r.rule
	}
	w.recalled.pc, c.ra, c.module = at.pc, in.module.ToTarget(c.ra), in.index
	if w.cache.worth(at.pc) {
		w.cache.keep(&w.recalled)
	}
	return &w.recalled, &r.rule
}

// tell leaves a rule, and the caller that it leads to, for others, if code alone decided.
func (w *Walker) tell(r *cachedRule) {
	of := w.known(w.state.Module)
	if of.facts == nil {
		return
	}
	fact, mask := *r, w.snap.Arch.AddrMask()
	fact.pc = of.module.ToImage(r.pc) & mask
	if !r.rule.ends() {
		in := w.known(w.best.module)
		if in.facts == nil || !w.best.alone {
			return
		}
		fact.caller.ra, fact.caller.module = in.module.ToImage(r.caller.ra)&mask, in.facts.id
	}
	of.facts.keep(fact)
}
