package code

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
)

// origin is how an entry is known, from the surest to the least sure.
type origin uint8

const (
	known    origin = iota // a symbol, a table, a direct call
	pointed                // a pointer in data or built in code
	fromCold               // the function of a jump from far away (.text.unlikely)
	guessed                // the code before it ends there
)

func (o origin) String() string { return [...]string{"known", "pointed", "jumped", "guessed"}[o] }

// candidate is a rule that the search found, forward from an entry or backward from a way out,
// with what speaks for the rule.
type candidate struct {
	stackwalk.Rule
	rank rank
	how  origin
	// fn is the function whose entry the rule comes from; nil for ways out and for
	// return addresses that no longer exist.
	fn *dataflow.Function
	// sound: some return undoes the frame that was made since the entry, and no return
	// undoes another frame. From a label inside a function, taken for an entry, returns undo
	// more than was made.
	sound bool
}

// attempt is an entry that the search tried, for explanations. rule is nil where none could
// be derived.
type attempt struct {
	fn      *dataflow.Function
	how     origin
	reached bool // control from the entry comes to the point
	rule    *stackwalk.Rule
}

// search gathers the answers for one program point.
type search struct {
	prog    *program
	at      rules.Point
	forward []*candidate
	ways    []wayOut
	tried   []attempt
	// outermost: the program starts here. otherStack: SP is not the stack that the
	// function was called on.
	outermost, otherStack bool
	// oneEntry: the walker asked for the rule from one entry, and has asked for the rules of
	// the ways out before.
	oneEntry bool
	// steps counts the instructions executed in the functions that were asked for; most is
	// the bound of steps.
	steps, most int
}

// maxSteps bounds the instructions executed for one point: enough for a few functions with
// thousands of blocks (zstd's main takes more than 500,000), or for a thousand ordinary
// functions, of which a search tries a few dozen. A function that was analysed for another
// point counts in full, so that the answers do not depend on what was asked before.
const maxSteps = 1_000_000

// briefSteps is the bound for the walks of a capture with many threads (Query.Brief).
const briefSteps = maxSteps / 8

// function is the analysis of the function at an entry; nil where the point has cost enough.
func (s *search) function(entry disasm.Addr) *dataflow.Function {
	if s.steps > s.most {
		return nil
	}
	f := s.prog.Flows.Function(entry)
	s.steps += f.Steps()
	return f
}

// wayOut is a way from the point to a return, and the rule that it implies.
type wayOut struct {
	dataflow.ReturnPath
	rule stackwalk.Rule
	// confirmed: the rule from some entry is the same.
	confirmed bool
}

// search derives all answers for the place of a query.
func (p *program) search(q *stackwalk.Query) *search {
	s := &search{prog: p, most: maxSteps}
	if q.Brief {
		s.most = briefSteps
	}
	at, ok := rules.PointOf(p.Code, q)
	if !ok {
		return s
	}
	s.at = at
	if !s.calleeNeverReturns() {
		for _, path := range p.Flows.ReturnPaths(at.Addr(), !at.Exact) {
			s.ways = append(s.ways, wayOut{ReturnPath: path, rule: rules.FromPath(&path, s.prog.Arch)})
		}
	}
	switch {
	case s.leavesException():
	case q.HasEntry:
		s.oneEntry = true
		s.from(disasm.Addr{PC: q.Entry, Mode: at.Mode}, known)
	default:
		s.fromEntries()
	}
	return s
}

// calleeNeverReturns tells whether the call at the point is known not to come back, so that
// what stands behind the call is other code.
func (s *search) calleeNeverReturns() bool {
	var in cpu.Insn
	if s.at.Exact || !s.prog.One(s.at.SiteAddr(), &in) || in.Op != cpu.OpCall {
		return false
	}
	if s.prog.Entries.IsEntry(s.at.Addr()) || s.prog.Callees.ReadsNoReturn(&in) {
		return true
	}
	return !disasm.IndirectCall(&in) && s.prog.Callees.NeverReturns(disasm.Target(&in))
}

// leavesException tells whether the point lies in code that exceptions enter. Nobody called
// that code, so that no rule follows from an entry: the link register at the entry belongs to the
// interrupted code.
func (s *search) leavesException() bool {
	return len(s.ways) > 0 && !slices.ContainsFunc(s.ways, func(w wayOut) bool { return !w.Exception })
}

// fromEntries derives rules from the entries that may be those of the point's function, the
// surest first, until one is confirmed.
func (s *search) fromEntries() {
	if s.at.Exact && beginsStub(s.prog, s.at.Addr()) && s.from(s.at.Addr(), known) {
		return
	}
	entries := s.prog.Entries.Below(s.at.SiteAddr())
	if !s.fromKnown(entries) {
		s.fromKnown(s.prog.Entries.CalledBelow(s.at.SiteAddr()))
	}
	if s.settled() || s.otherStack || s.whole() || s.prog.Img.Made {
		return
	}
	// Dozens of labels of jump tables may lie between the function's entry and the point, and
	// control comes from each to the point as well: only a sound function ends the loop.
	for _, e := range s.prog.Entries.CandidatesBelow(s.at.SiteAddr()) {
		if s.from(disasm.Addr{PC: e, Mode: s.at.Mode}, pointed) && s.sound() {
			break
		}
	}
	var part uint64
	if !s.settled() && !s.sound() {
		part = s.fromCold(entries)
	}
	if !s.settled() && !s.sound() && len(entries) > 0 {
		s.fromGaps(entries[0], part, s.at.Site)
	}
	if !s.outermost && !slices.ContainsFunc(s.forward, func(c *candidate) bool { return c.sound || c.Flags&stackwalk.FromEntry != 0 || c.begins() }) {
		s.fromPointedCold(entries)
	}
	if len(s.forward) == 0 && s.at.Exact {
		s.fromStub()
	}
}

// fromKnown derives the rule from the first of certain entries from which control comes to the point; false where it comes from none.
func (s *search) fromKnown(entries []uint64) bool {
	return slices.ContainsFunc(entries, func(e uint64) bool { return s.from(disasm.Addr{PC: e, Mode: s.at.Mode}, known) })
}

// settled tells whether no further entry need be tried: the program starts here, or a way out
// confirms the rule from a known entry.
func (s *search) settled() bool {
	const confirmed = stackwalk.FromEntry | stackwalk.Agreed
	return s.outermost || len(s.forward) > 0 && s.forward[0].Flags&confirmed == confirmed
}

// whole tells whether control comes to the point from where a symbol with a size says that the point's function begins. No
// label within the function is a better entry, and no jump from far away: those lead to what GCC and Clang name f.cold.
// V8's InterpreterEntryTrampoline pops as many arguments as a register says, so that no way out confirms its rule.
func (s *search) whole() bool {
	if len(s.forward) == 0 || s.forward[0].fn == nil {
		return false
	}
	sym, ok := s.prog.Code.Img.Symbols.At(s.at.Site)
	return ok && s.at.Site-sym.Addr < sym.Size && sym.Addr == s.forward[0].fn.Entry.PC && !strings.Contains(sym.Name, ".cold")
}

// sound tells whether the search has found a sound candidate.
func (s *search) sound() bool {
	return slices.ContainsFunc(s.forward, func(c *candidate) bool { return c.sound })
}

// from derives the rule for the point from one entry; false where control does not come from that
// entry to the point, or where the entry was tried before.
func (s *search) from(entry disasm.Addr, how origin) bool {
	if slices.ContainsFunc(s.tried, func(a attempt) bool { return a.fn.Entry.PC == entry.PC }) {
		return false
	}
	f := s.function(entry)
	if f == nil {
		return false
	}
	s.tried = append(s.tried, attempt{fn: f, how: how})
	tried := &s.tried[len(s.tried)-1]
	var st absint.State
	if !s.at.StateIn(f, &st) {
		return f.BrokenOff && how == pointed && s.byHeights(f, how)
	}
	tried.reached = true
	if s.prog.Entries.StartsImage(entry) {
		s.outermost = true
		return true
	}
	c := &candidate{how: how, fn: f}
	if !s.derive(f, &st, how, &c.Rule) {
		return true
	}
	s.judge(c, &st)
	s.compare(c, &st)
	if s.prog.Img.Made && !s.holdsBehindCalls(c, &st) {
		return true
	}
	other := c.reloaded(s.prog.Flows, s.at, &st)
	tried.rule = &c.Rule
	s.forward = append(s.forward, c)
	if other != nil {
		s.forward = append(s.forward, other)
	}
	return true
}

// judge notes what the function of a candidate and the state at the point say of the candidate's rule.
func (s *search) judge(c *candidate, st *absint.State) {
	f, sp := c.fn, s.prog.Arch.SP
	c.sound = f.Balanced && !f.Unbalanced && (c.how == known || !f.ReadsPreserved && !rules.Undefines(&c.Rule))
	if c.how == known && !f.Unbalanced || c.how == pointed && c.sound {
		c.Flags |= stackwalk.FromEntry
	}
	if c.how == known && s.at.Exact && f.Straight(s.at.PC) {
		c.Flags |= stackwalk.Straight
	}
	framed := !st.Regs[sp].IsStartOf(sp) // longjmp saves nothing
	if framed && s.prog.Flows.Abandons(f, s.at.Addr(), !s.at.Exact) {
		c.Flags |= stackwalk.Abandoned
	}
}

// compare notes which ways out have the rule of a candidate.
func (s *search) compare(c *candidate, st *absint.State) {
	for i := range s.ways {
		w := &s.ways[i]
		if w.Tail && s.prog.Img.Made {
			continue // V8's baseline code jumps to what takes its frame down
		}
		if rules.Agrees(st, &w.rule, s.prog.Arch) {
			w.confirmed = true
			c.Flags |= stackwalk.Agreed
			c.byFP(&w.rule, s.prog.Arch)
		}
	}
}

// derive writes the rule that follows from the state at the point; false where no rule follows.
func (s *search) derive(f *dataflow.Function, st *absint.State, how origin, out *stackwalk.Rule) bool {
	arch := s.prog.Arch
	if f.ClearsRA && st.Regs[arch.LR].Kind == absint.Unknown {
		st.Regs[arch.LR] = absint.Const(0) // the return address was 0; what a call put over the 0 does not matter
	}
	out.Reset()
	if rules.FromState(st, arch, out) {
		// No caller's frame lies below SP: the function does not begin at the entry.
		return out.CFA.Kind != stackwalk.RegPlus || out.CFA.Base != arch.SP || out.CFA.Off >= arch.EntryCFA ||
			how == known && (out.CFA.Off == 0 && s.popped(f, st) || out.RA.Kind == stackwalk.RegPlus && f.Balanced && !f.Unbalanced)
	}
	if how == known {
		s.otherStack = absint.LeftStack(st.Regs[arch.SP], arch) && !f.Doubts(s.at.Site)
		s.fromCallers(f, st)
	}
	return false
}

// popped tells whether the code before the point, in a line from an entry that is known, has taken the return address
// from the stack, and will leave the function with SP as on entry: OCaml's caml_c_call notes the address
// so, and lowers SP over the address again before it goes on to C. In a register the address is safe wherever the code goes.
func (s *search) popped(f *dataflow.Function, st *absint.State) bool {
	arch := s.prog.Arch
	return arch.CallPushesRA && s.at.Exact && f.Straight(s.at.PC) && (f.Balanced || f.LeavesByPointer) && !f.Unbalanced &&
		st.Load(absint.StartOf(arch.SP), uint8(arch.RegSize)) == absint.Pushed(arch)
}

// fromCallers derives rules from the calls of a function that has lost its return address.
func (s *search) fromCallers(f *dataflow.Function, st *absint.State) {
	if s.steps > s.most {
		return
	}
	list, cost := rules.LostRA(s.prog.Flows, f, s.at, st)
	s.steps += cost
	for _, r := range list {
		s.forward = append(s.forward, &candidate{Rule: r})
	}
}

// maxFunctions bounds how many functions fromGaps tells apart between the nearest known entry and
// the point.
const maxFunctions = 64

// fromGaps walks the functions between the nearest known entry and place, which is the point or a
// jump that leads to the point. Behind the last instruction that control reaches in a function
// begins the next function, or a landing pad of the same function, which only the runtime enters.
// From part on, the code is that of a function that jumps there from far away, with its own landing pads;
// or part is a function that others call by a jump, to which the pads behind its end belong.
func (s *search) fromGaps(entry, part, place uint64) {
	at := disasm.Addr{PC: entry, Mode: s.at.Mode}
	f := s.function(at)
	owner := f
	for range maxFunctions {
		if f == nil {
			return
		}
		next := dataflow.Behind(at, f, owner)
		if next.PC <= at.PC || next.PC > place {
			return
		}
		g := s.function(next)
		if g == nil {
			return
		}
		pad := g.IsLandingPadOf(owner)
		if pad && next.PC <= part {
			next = disasm.Addr{PC: part, Mode: at.Mode}
			if g = s.function(next); g == nil || !g.Balanced || g.IsLandingPadOf(owner) {
				return
			}
			pad = false
		}
		pad = pad && !pointedTo(s.tried, next)
		before := len(s.forward)
		reached := s.from(next, guessed)
		at, f = next, g
		if !pad {
			owner = g
		} else if pads, here := s.fromLandingPads(owner, next, before); here {
			return
		} else if pads != nil {
			f = pads
		}
		if reached || g.BrokenOff { // constants in the executable segment are functions without an end
			return
		}
	}
}

// pointedTo tells whether a function was tried at an entry because something points there. A reset handler
// that never returns overwrites preserved registers as landing pads do.
func pointedTo(tried []attempt, entry disasm.Addr) bool {
	return slices.ContainsFunc(tried, func(a attempt) bool { return a.fn.Entry == entry && a.how == pointed })
}
