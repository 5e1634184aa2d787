package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// origin is how an entry is known.
type origin uint8

const (
	known   origin = iota // a symbol, a table, a direct call
	pointed               // a pointer in data or built in code
	jumped                // the function of a jump from far away
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

// forward derives rules from the entries that may be those of the place's
// function, the surest first, until one is confirmed.
func (d *derivation) forward() {
	an := d.an
	entries := an.entriesBelow(d.site, d.mode)
	for _, e := range entries {
		if d.from(e, d.mode, known) {
			break
		}
	}
	if d.settled() || d.switched {
		return
	}
	// Pointers to jump table labels can be dozens between the place and the
	// function's own, and their derivations reach it as well: go on to a sound one.
	for _, e := range an.pointersBelow(d.site, d.mode) {
		if d.from(e, d.mode, pointed) && d.sound() {
			break
		}
	}
	if !d.settled() && !d.sound() {
		d.jumped()
	}
	if !d.settled() && !d.sound() {
		d.partition(entries)
	}
}

// sound tells whether some derivation so far stands on its own.
func (d *derivation) sound() bool {
	for i := range d.rules {
		if d.rules[i].sound {
			return true
		}
	}
	return false
}

// jumped derives rules for code that was moved away from its function
// (.text.unlikely): a jump from the function, megabytes off, leads there.
func (d *derivation) jumped() {
	for _, j := range d.an.crossingsBelow(d.site) {
		for _, e := range d.an.entriesBelow(j.Site, j.TargetMode) {
			if d.from(e, j.TargetMode, jumped) {
				break
			}
		}
		if d.sound() {
			return
		}
	}
}

// settled tells whether a known entry's derivation is confirmed by the exits, or
// stands alone because nothing returns.
func (d *derivation) settled() bool {
	return d.end || len(d.rules) > 0 && d.rules[0].Flags&(unwind.FromEntry|unwind.Agreed) == unwind.FromEntry|unwind.Agreed
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
	if f.clearsRA && st.regs[d.an.arch.LR].kind == unknown {
		st.regs[d.an.arch.LR] = constant(0) // a call overwrote nothing of worth
	}
	if !f.derive(&st, &r) {
		if how == known {
			d.switched = f.switched(st.regs[f.arch.SP]) && !f.doubts(d.site)
			d.lostRA(f, &st)
		}
		d.note(f, how, true, nil)
		return true
	}
	if r.CFA.Kind == unwind.RegPlus && r.CFA.Base == d.an.arch.SP && r.CFA.Off < d.an.arch.EntryCFA {
		d.note(f, how, true, nil) // the frame would lie below SP: no function begins at entry
		return true
	}
	sound := f.balanced && !f.unbalanced && (how == known || !f.presumes && !undefines(&r))
	if how == known && !f.unbalanced || how == pointed && sound {
		r.Flags |= unwind.FromEntry
	}
	if b, _ := f.at(d.pc); how == known && d.exact && b != nil && b.start == entry {
		r.Flags |= unwind.Straight
	}
	for i := range d.exits {
		if f.agrees(&st, &d.exits[i].rule) {
			d.agreed[i] = true
			r.Flags |= unwind.Agreed
		}
	}
	d.note(f, how, true, &r)
	d.rules = append(d.rules, derived{r, sound, f, how})
	return true
}

// undefines tells whether a rule gives up a preserved register: functions save
// what they clobber, so that it was not one that began at the entry.
func undefines(r *unwind.Rule) bool {
	for i := range r.N {
		if r.Regs[i].Kind == unwind.Undefined {
			return true
		}
	}
	return false
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
// what follows the last instruction that one reaches begins the next, or is a
// part of it that only the runtime enters (a landing pad): code that uses registers
// or returns with a frame that it did not make, or calls without a way back.
func (d *derivation) partition(entries []uint64) {
	const maxFunctions = 64
	if len(entries) == 0 {
		return
	}
	at, owner := entries[0], entries[0]
	for range maxFunctions {
		f := d.an.function(at, d.mode)
		next := f.skipData(f.contiguousEnd(), d.mode)
		if next <= at || next > d.site {
			return
		}
		g := d.an.function(next, d.mode)
		pad := g.presumes || g.unbalanced && !g.balanced || g.loses()
		before := len(d.rules)
		if d.from(next, d.mode, guessed) {
			if pad {
				d.pad(owner, next, before)
			}
			return
		}
		if !pad {
			owner = next
		}
		at = next
	}
}

// loses tells whether a function calls and keeps the return address nowhere.
func (f *function) loses() bool {
	return f.arch.LR != cpu.NoReg && f.behindCalls != nil && !f.saves && !f.balanced
}

// pad derives the rule for a landing pad of the function at owner: code that uses
// the function's registers without having set them, entered with the stack as it
// is behind the function's calls.
func (d *derivation) pad(owner, at uint64, rank int) {
	f := d.an.function(owner, d.mode)
	if f.behindCalls == nil {
		return
	}
	f = analyzeFrom(d.an, owner, d.mode, &openJump{mode: d.mode, st: *f.behindCalls}, at)
	var st state
	var r unwind.Rule
	r.Reset()
	if !d.stateIn(f, &st) || !f.derive(&st, &r) {
		return
	}
	d.note(f, guessed, true, &r)
	d.rules = slices.Insert(d.rules, rank, derived{Rule: r, f: f, how: guessed})
}

// doubts tells whether the way to pc leads over a call, which may not return, or a
// guess.
func (f *function) doubts(pc uint64) bool {
	b, _ := f.at(pc)
	return b == nil || b.via > edgeJump
}

// contiguousEnd is the end of the run of blocks around the entry, padding in front
// of the targets of jumps included.
func (f *function) contiguousEnd() uint64 {
	end := f.entry
	for _, b := range f.blocks {
		if b.start >= f.entry && (b.start <= end || b.start == f.an.skipPadding(end, b.mode)) {
			end = max(end, b.end)
		}
	}
	return end
}

// result orders the answers: a derivation from an entry that the exits confirm,
// one from a known entry, exits on paths that cross no call, the rest. Last are those
// from places that every return of theirs contradicts: no function begins there.
func (d *derivation) result() *lookup {
	l := &lookup{end: d.end, switched: d.switched && len(d.rules) == 0}
	if l.switched {
		return l
	}
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
			add(&d.exits[i].rule)
		}
	}
	d.demoteSwallowing()
	forward(func(r *derived) bool { return r.Flags&unwind.Agreed != 0 })
	forward(func(r *derived) bool { return r.Flags&unwind.FromEntry != 0 })
	forward(func(r *derived) bool { return r.sound })
	backward(func(e *exit) bool { return e.calls == 0 && !e.tail })
	forward(func(r *derived) bool { return r.begins() })
	forward(func(r *derived) bool {
		return !r.f.contradicted() && !r.landing() && (r.how == known || !undefines(&r.Rule))
	})
	backward(func(*exit) bool { return true })
	forward(func(r *derived) bool { return !r.landing() })
	return l
}

// contradicted: every return of the function has SP elsewhere than on entry.
func (f *function) contradicted() bool { return f != nil && f.unbalanced && !f.balanced }

// landing tells whether an answer takes a landing pad for a function: it uses what its
// function left in registers (testl $0x8000,(%rbx), ends in _Unwind_Resume), and only
// the runtime comes there. Its frame is that of a function that nothing here names.
func (r *derived) landing() bool {
	return r.how != known && r.f != nil && r.f.pad && !r.f.balanced && r.f.extra == nil
}

// demoteSwallowing takes the credit of a known entry from functions that come to
// the place only through the beginning of another sound one, by falling through a
// call: a call that never returns, and nothing said so.
func (d *derivation) demoteSwallowing() {
	for i := range d.rules {
		k := &d.rules[i]
		if k.how != known || k.f == nil || k.Flags&unwind.Agreed != 0 {
			continue
		}
		for j := range d.rules {
			w := &d.rules[j]
			if w.f == nil || w.f == k.f || !w.sound {
				continue
			}
			if b, _ := k.f.at(w.f.entry); b != nil && b.start == w.f.entry && b.via == edgeCall {
				k.Flags, k.sound = k.Flags&^unwind.FromEntry, false
			}
		}
	}
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
			a := &d.rules[i]
			whole := a.sound || a.begins() && !r.f.saves || a.f != nil && !r.sound && !a.f.unbalanced && !a.f.presumes
			if whole && a.f != r.f && a.f.framedAt(r.f.entry) {
				return true
			}
		}
		return false
	})
}

// begins tells whether it begins like a function that never returns: nothing undoes
// its frame, but it makes one.
func (r *derived) begins() bool { return r.f != nil && r.f.saves && !r.f.presumes }

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
