// Package code finds unwind rules by reading the code itself, for programs that
// carry no symbols and no unwind tables.
//
// It interprets instructions abstractly, in two directions:
//
//	entry ──forward──► PC      what the function did to SP, RA and the preserved
//	                           registers so far (needs the entry)
//	PC ──forward──► return     what it will do to undo it (needs nothing, but that
//	                           it returns)
//
// Each register and stack slot is a constant, a start value plus an offset, or
// unknown. Both directions are derivations of the same rule; that they agree is
// evidence, and where they do not both are offered and the walker's checks decide.
// A last, named fallback is the scan that the MIPS ABI document describes.
package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// Source is the code analysis as an unwind source.
type Source struct {
	// ranges lists functions known from tables, nil if there are none to ask.
	ranges Ranges
}

// Ranges lists the functions that unwind tables know of, in image addresses.
type Ranges func(img *image.Image, yield func(lo, hi uint64) bool)

// New returns the source. ranges may be nil.
func New(ranges Ranges) *Source { return &Source{ranges: ranges} }

// Method implements unwind.RuleSource.
func (s *Source) Method() unwind.Method { return unwind.MethodCode }

// Rule implements unwind.RuleSource: the derivations for one place, the most
// believable first, one per Try.
func (s *Source) Rule(q *unwind.Query, out *unwind.Rule) unwind.Verdict {
	if q.Arch.Decoder == nil {
		return unwind.NotCovered
	}
	an := s.of(q.Image)
	if a, ok := an.answers.find(ask(q)); ok {
		a.write(out)
		return a.verdict
	}
	an.mu.Lock()
	defer an.mu.Unlock()
	v := an.rule(q, out)
	an.answers.keep(ask(q), keepAnswer(v, out))
	return v
}

// rule finds the answer. A sketch's comes first; all others are much work.
func (an *analysis) rule(q *unwind.Query, out *unwind.Rule) unwind.Verdict {
	sketched := an.sketched(q, out)
	if sketched && q.Try == 0 {
		return unwind.Found
	}
	l := an.lookup(q)
	if sketched {
		l.putFirst(out, an.arch)
	}
	return an.answer(q, l, out)
}

// answer gives the one that was asked for.
func (an *analysis) answer(q *unwind.Query, l *lookup, out *unwind.Rule) unwind.Verdict {
	switch {
	case l.end:
		return unwind.EndOfStack
	case l.switched:
		return unwind.NoCaller
	}
	if q.Try >= len(l.rules) {
		return an.fallback(q, l, out)
	}
	*out = l.rules[q.Try]
	return unwind.Found
}

// place is where a frame stands: at pc, or behind the call at site.
type place struct {
	site  uint64
	pc    uint64
	mode  cpu.Mode
	exact bool
}

// place finds the call that a resuming frame stands behind.
func (an *analysis) place(q *unwind.Query) (place, bool) {
	p := place{pc: q.PC, site: q.PC, mode: q.Mode, exact: q.Exact}
	if q.Exact {
		return p, an.img.Code(q.PC) != nil
	}
	p.pc = q.Resume
	site, ok := an.arch.Decoder.CallBefore(an.img.Before(q.Resume, 16), q.Resume, q.Mode)
	p.site = site.Addr
	return p, ok
}

// lookup is the answers for one place.
type lookup struct {
	rules []unwind.Rule
	end   bool
	// switched: the code has left the stack that it was called on.
	switched bool
}

// lookup derives all answers for a place.
func (an *analysis) lookup(q *unwind.Query) *lookup {
	p, ok := an.place(q)
	if !ok {
		return &lookup{}
	}
	d := derivation{an: an, place: p}
	return d.derive(q)
}

// putFirst makes r the first answer.
func (l *lookup) putFirst(r *unwind.Rule, arch *cpu.Arch) {
	same := func(o unwind.Rule) bool { return o.Equal(r, arch.Preserved) }
	l.rules = slices.Insert(slices.DeleteFunc(l.rules, same), 0, *r)
}

// derive gathers the answers.
func (d *derivation) derive(q *unwind.Query) *lookup {
	if n := d.calleeNeverReturns(); !n {
		d.exits = d.an.exits(d.pc, d.mode, !d.exact)
	}
	if q.HasEntry {
		d.from(q.Entry, d.mode, known)
	} else {
		d.forward()
	}
	l := d.result()
	if q.HasEntry && len(l.rules) > len(d.rules) {
		l.rules = l.rules[:len(d.rules)] // the exits were asked before
	}
	return l
}

// calleeNeverReturns tells whether the call at site is known not to come back, so
// that what stands behind it is other code.
func (d *derivation) calleeNeverReturns() bool {
	if d.exact {
		return false
	}
	var buf [2]cpu.Insn
	if n := d.an.arch.Decoder.Decode(d.an.img.Code(d.site), d.site, d.mode, buf[:]); n == 0 || buf[0].Op != cpu.OpCall {
		return false
	}
	if d.an.isEntry(d.pc, d.mode) {
		return true
	}
	direct := buf[0].Src == cpu.NoReg && buf[0].Flags&cpu.FlagMemory == 0
	return d.an.readsNoReturn(&buf[0]) || direct && d.an.neverReturns(jump{buf[0].Target, buf[0].TargetMode})
}
