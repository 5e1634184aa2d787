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
	an.mu.Lock()
	defer an.mu.Unlock()
	l := an.lookup(q)
	if l.end {
		return unwind.EndOfStack
	}
	if q.Try >= len(l.rules) {
		return unwind.NotCovered
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
	return direct && d.an.neverReturns(jump{buf[0].Target, buf[0].TargetMode})
}

// origin is how an entry is known.
type origin uint8

const (
	known   origin = iota // a symbol, a table, a direct call
	pointed               // a pointer in data or built in code
	guessed               // the code before it ends there
)

// derived is the answer of one forward derivation.
type derived struct {
	unwind.Rule
	// sound: the function undoes its frame on some path and on none in a way that
	// contradicts the entry. A label inside a function, taken for an entry, does not.
	sound bool
	f     *function
	how   origin
}

// derivation gathers the answers for one place.
type derivation struct {
	place
	an    *analysis
	exits []exit
	rules []derived
	end   bool
	// agreed tells which exits a forward derivation confirmed.
	agreed [exitWant]bool
	// switched: SP here is not the stack that the function was called on.
	switched bool
	tried    []uint64
	// trace, if set, is told of every forward derivation.
	trace func(f *function, how origin, reached bool, r *unwind.Rule)
}

// forward derives rules from the entries at or below the place.
func (d *derivation) forward() {
	an := d.an
	entries := an.entriesBelow(d.site, d.mode)
	for _, e := range entries {
		if d.from(e, d.mode, known) {
			break
		}
	}
	if d.settled() {
		return
	}
	for _, e := range an.pointersBelow(d.site, d.mode) {
		if d.from(e, d.mode, pointed) {
			break
		}
	}
	if !d.settled() {
		d.partition(entries)
	}
}

// settled tells whether a known entry's derivation is confirmed by the exits, or
// stands alone because nothing returns.
func (d *derivation) settled() bool {
	return d.end || len(d.rules) > 0 && d.rules[0].Flags&(unwind.EntryKnown|unwind.Agreed) == unwind.EntryKnown|unwind.Agreed
}

// from derives the rule by analysis from one entry; false when that does not
// reach the place.
func (d *derivation) from(entry uint64, mode cpu.Mode, how origin) bool {
	for _, e := range d.tried {
		if e == entry {
			return false
		}
	}
	d.tried = append(d.tried, entry)
	f := d.an.function(entry, mode)
	var st state
	if !d.stateIn(f, &st) {
		d.note(f, how, false, nil)
		return false
	}
	if d.an.startsImage(entry, mode) {
		d.end = true
		return true
	}
	var r unwind.Rule
	r.Reset()
	if sp := st.regs[f.arch.SP]; how == known && f.foreign(sp) {
		d.switched = true
	}
	if !f.derive(&st, &r) {
		if how == known {
			d.lostRA(f, &st)
		}
		d.note(f, how, true, nil)
		return true
	}
	if how == known || how == pointed && f.balanced {
		r.Flags |= unwind.EntryKnown
	}
	if f.unbalanced {
		r.Flags &^= unwind.EntryKnown
	}
	for i := range d.exits {
		if f.agrees(&st, &d.exits[i].rule) {
			d.agreed[i] = true
			r.Flags |= unwind.Agreed
		}
	}
	d.note(f, how, true, &r)
	d.rules = append(d.rules, derived{r, f.balanced && !f.unbalanced, f, how})
	return true
}

// stateIn is the state at the place by a function's analysis.
func (d *derivation) stateIn(f *function, st *state) bool {
	if d.exact {
		return f.stateAt(d.pc, d.mode, st)
	}
	return f.stateAfterCall(d.site, d.mode, st)
}

func (d *derivation) note(f *function, how origin, reached bool, r *unwind.Rule) {
	if d.trace != nil {
		d.trace(f, how, reached, r)
	}
}

// partition walks the functions between the nearest known entry and the place:
// what follows the last instruction that one reaches begins the next.
func (d *derivation) partition(entries []uint64) {
	const maxFunctions = 64
	if len(entries) == 0 {
		return
	}
	at := entries[0]
	for range maxFunctions {
		f := d.an.function(at, d.mode)
		next := d.an.skipPadding(f.contiguousEnd(), d.mode)
		if next <= at || next > d.site {
			return
		}
		if d.from(next, d.mode, guessed) {
			return
		}
		at = next
	}
}

// contiguousEnd is the end of the run of blocks around the entry.
func (f *function) contiguousEnd() uint64 {
	end := f.entry
	for _, b := range f.blocks {
		if b.start >= f.entry && b.start <= end {
			end = max(end, b.end)
		}
	}
	return end
}

// result orders the answers: a derivation from an entry that the exits confirm,
// one from a known entry, exits on paths that cross no call, the rest.
func (d *derivation) result() *lookup {
	l := &lookup{end: d.end}
	d.dropLabels()
	add := func(r *unwind.Rule) {
		if !contains(l.rules, r, d.an.arch) {
			l.rules = append(l.rules, *r)
		}
	}
	forward := func(want func(r *derived) bool) {
		for i := range d.rules {
			if want(&d.rules[i]) {
				add(&d.rules[i].Rule)
			}
		}
	}
	backward := func(want func(e *exit) bool) {
		for i := range d.exits {
			if d.agreed[i] || !want(&d.exits[i]) {
				continue
			}
			r := d.exits[i].rule
			if d.switched {
				r.Flags |= unwind.Switched
			}
			add(&r)
		}
	}
	forward(func(r *derived) bool { return r.Flags&unwind.Agreed != 0 })
	forward(func(r *derived) bool { return r.Flags&unwind.EntryKnown != 0 })
	forward(func(r *derived) bool { return r.sound })
	backward(func(e *exit) bool { return e.calls == 0 && !e.tail })
	forward(func(*derived) bool { return true })
	backward(func(*exit) bool { return true })
	return l
}

// dropLabels drops derivations from places that another function reaches with its
// frame in place: labels of a jump table or a computed goto, whose addresses data
// holds just like those of functions.
func (d *derivation) dropLabels() {
	d.rules = slices.DeleteFunc(d.rules, func(r derived) bool {
		if r.how == known || r.f == nil {
			return false
		}
		for i := range d.rules {
			if a := &d.rules[i]; a.sound && a.f != r.f && a.f.framedAt(r.f.entry) {
				return true
			}
		}
		return false
	})
}

// framedAt tells whether the function runs through pc with SP other than on entry.
// What falls through a call may be another function's beginning.
func (f *function) framedAt(pc uint64) bool {
	b, _ := f.at(pc)
	var st state
	return b != nil && b.afterCall == 0 && b.via <= edgeTable &&
		f.stateAt(pc, b.mode, &st) && !st.regs[f.arch.SP].isStart(f.arch.SP)
}

func contains(rules []unwind.Rule, r *unwind.Rule, arch *cpu.Arch) bool {
	for i := range rules {
		if rules[i].Equal(r, arch.Preserved) {
			return true
		}
	}
	return false
}
