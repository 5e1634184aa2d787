package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/unwind"
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

// candidate is one answer: a rule forward from an entry, or backward from a way out.
type candidate struct {
	unwind.Rule
	rank rank
	how  origin
	// fn is the function whose entry the rule comes from; nil for ways out and for
	// return addresses that no longer exist.
	fn *dataflow.Function
	// sound: the function undoes its frame on some path and on none in a way that
	// contradicts the entry. A label inside a function, taken for an entry, does not.
	sound bool
}

// attempt is an entry that the search tried, for explanations. rule is nil where none could
// be derived.
type attempt struct {
	fn      *dataflow.Function
	how     origin
	reached bool // control from the entry comes to the point
	rule    *unwind.Rule
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
	// oneEntry: the walker asked for the answer from one entry; it knows the ways out.
	oneEntry bool
	// steps are the instructions executed in the functions that were asked for, most how many
	// those may be.
	steps, most int
}

// maxSteps bounds the instructions executed for one point: those of a few functions with
// thousands of blocks (zstd's main takes more than 500,000), or of a thousand ordinary
// ones; a few dozen are tried. What a function costs counts whether or not it is analysed
// anew, so that the answers do not depend on what was asked before.
const maxSteps = 1_000_000

// briefSteps is the same for a walk that has little to spend, one of many in a capture.
const briefSteps = maxSteps / 8

// function asks for the analysis of a function; nil: the point has cost enough.
func (s *search) function(entry disasm.Addr) *dataflow.Function {
	if s.steps > s.most {
		return nil
	}
	f := s.prog.flows.Function(entry)
	s.steps += f.Steps()
	return f
}

// wayOut is a way from the point to a return, and the rule that it implies.
type wayOut struct {
	dataflow.ReturnPath
	rule unwind.Rule
	// confirmed: a rule forward from an entry says the same.
	confirmed bool
}

// search derives all answers for the place of a query.
func (p *program) search(q *unwind.Query) *search {
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
		for _, path := range p.flows.ReturnPaths(at.Addr(), !at.Exact) {
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
	if s.prog.entries.IsEntry(s.at.Addr()) || s.prog.callees.ReadsNoReturn(&in) {
		return true
	}
	return !disasm.IndirectCall(&in) && s.prog.callees.NeverReturns(disasm.Target(&in))
}

// fromEntries derives rules from the entries that may be those of the point's function, the
// surest first, until one is confirmed.
func (s *search) fromEntries() {
	entries := s.prog.entries.Below(s.at.SiteAddr())
	for _, e := range entries {
		if s.from(disasm.Addr{PC: e, Mode: s.at.Mode}, known) {
			break
		}
	}
	if s.settled() || s.otherStack {
		return
	}
	// Pointers to jump table labels can be dozens between the point and the function's
	// own, and their derivations reach the point as well: go on to a sound one.
	for _, e := range s.prog.entries.CandidatesBelow(s.at.SiteAddr()) {
		if s.from(disasm.Addr{PC: e, Mode: s.at.Mode}, pointed) && s.sound() {
			break
		}
	}
	if !s.settled() && !s.sound() {
		s.fromCold()
	}
	if !s.settled() && !s.sound() && len(entries) > 0 {
		s.fromGaps(entries[0], s.at.Site)
	}
	if len(s.forward) == 0 && s.at.Exact {
		s.fromStub()
	}
}

// settled tells whether a known entry's derivation is confirmed by the ways out, or stands
// alone because nothing returns.
func (s *search) settled() bool {
	const confirmed = unwind.FromEntry | unwind.Agreed
	return s.outermost || len(s.forward) > 0 && s.forward[0].Flags&confirmed == confirmed
}

// sound tells whether some derivation so far stands on its own.
func (s *search) sound() bool {
	return slices.ContainsFunc(s.forward, func(c *candidate) bool { return c.sound })
}

// maxVeneer is the size of a veneer that changes the mode, in bytes.
const maxVeneer = 16

// fromCold derives rules for code that was moved away from its function (.text.unlikely): a
// jump from the function, megabytes off, leads there. It stays in its mode, but for a linker's
// veneer, which Thumb code jumps to and which goes on in A32: bx pc; nop; ldr ip,[pc]; …
func (s *search) fromCold() {
	jumps := s.prog.entries.FarJumpsBelow(s.at.Site)
	for _, j := range jumps {
		if j.TargetMode != s.at.Mode && s.at.Site-j.Target > maxVeneer {
			continue
		}
		s.fromJump(j, j.Target == jumps[0].Target)
		if s.sound() {
			return
		}
	}
}

// fromJump derives rules from the function that a jump stands in. GCC leaves landing pads of
// two instructions in the function (mov %rax,%rbx; jmp f.cold) and puts what they do into
// the cold part: control comes to the jump from the runtime only. Pads are looked for only
// where the jump is one of the nearest: that walks through many functions.
func (s *search) fromJump(j cpu.CallRef, nearest bool) {
	site := disasm.Addr{PC: j.Site, Mode: j.TargetMode}
	entries := s.prog.entries.Below(site)
	for _, e := range entries {
		at := disasm.Addr{PC: e, Mode: site.Mode}
		if s.from(at, fromCold) {
			return
		}
		if s.comesTo(at, site.PC) { // a jump in plain flow
			if nearest && e == entries[0] {
				s.fromColdPads(at, disasm.Addr{PC: j.Target, Mode: j.TargetMode})
			}
			return
		}
	}
	if nearest && len(entries) > 0 {
		s.fromGaps(entries[0], site.PC)
	}
}

// comesTo tells whether the flow from an entry that was tried comes to an address, or nobody
// knows.
func (s *search) comesTo(entry disasm.Addr, pc uint64) bool {
	i := slices.IndexFunc(s.tried, func(a attempt) bool { return a.fn.Entry == entry })
	return i < 0 || s.tried[i].fn.Contains(pc)
}

// from derives the rule by analysis from one entry; false when control from there does not
// come to the point.
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
		return false
	}
	tried.reached = true
	if s.prog.entries.StartsImage(entry) {
		s.outermost = true
		return true
	}
	c := &candidate{how: how, fn: f}
	if !s.derive(f, &st, how, &c.Rule) {
		return true
	}
	c.sound = f.Balanced && !f.Unbalanced && (how == known || !f.ReadsPreserved && !rules.Undefines(&c.Rule))
	if how == known && !f.Unbalanced || how == pointed && c.sound {
		c.Flags |= unwind.FromEntry
	}
	if how == known && s.at.Exact && f.Straight(s.at.PC) {
		c.Flags |= unwind.Straight
	}
	framed := !st.Regs[s.prog.Arch.SP].IsStartOf(s.prog.Arch.SP) // longjmp saves nothing
	if framed && s.prog.flows.Abandons(f, s.at.Addr(), !s.at.Exact) {
		c.Flags |= unwind.Abandoned
	}
	for i := range s.ways {
		if rules.Agrees(&st, &s.ways[i].rule, s.prog.Arch) {
			s.ways[i].confirmed = true
			c.Flags |= unwind.Agreed
			c.byFP(&s.ways[i].rule, s.prog.Arch)
		}
	}
	other := c.reloaded(s.prog.flows, s.at, &st)
	tried.rule = &c.Rule
	s.forward = append(s.forward, c)
	if other != nil {
		s.forward = append(s.forward, other)
	}
	return true
}

// derive writes the rule that follows from the state at the point; false where there is
// none.
func (s *search) derive(f *dataflow.Function, st *absint.State, how origin, out *unwind.Rule) bool {
	arch := s.prog.Arch
	if f.ClearsRA && st.Regs[arch.LR].Kind == absint.Unknown {
		st.Regs[arch.LR] = absint.Const(0) // a call overwrote nothing of worth
	}
	out.Reset()
	if rules.FromState(st, arch, out) {
		// A frame below SP is none: no function begins at the entry.
		return out.CFA.Kind != unwind.RegPlus || out.CFA.Base != arch.SP || out.CFA.Off >= arch.EntryCFA
	}
	if how == known {
		s.otherStack = absint.LeftStack(st.Regs[arch.SP], arch) && !f.Doubts(s.at.Site)
		s.fromCallers(f, st)
	}
	return false
}

// fromCallers derives rules from the calls of a function that has lost its return address.
func (s *search) fromCallers(f *dataflow.Function, st *absint.State) {
	if s.steps > s.most {
		return
	}
	list, cost := rules.LostRA(s.prog.flows, f, s.at, st)
	s.steps += cost
	for _, r := range list {
		s.forward = append(s.forward, &candidate{Rule: r})
	}
}

// maxFunctions bounds the functions between the nearest known entry and a point that are
// told apart.
const maxFunctions = 64

// fromGaps walks the functions between the nearest known entry and a place that leads to
// the point, most often the point itself: what follows the last instruction that one reaches begins the next, or is a part of that function
// which only the runtime enters (a landing pad): code that uses registers or returns with a
// frame that it did not make, or calls without a way back.
func (s *search) fromGaps(entry, place uint64) {
	at := disasm.Addr{PC: entry, Mode: s.at.Mode}
	owner := at
	for range maxFunctions {
		f := s.function(at)
		if f == nil {
			return
		}
		next := behind(f, s.prog.flows.Function(owner), at.Mode)
		if next.PC <= at.PC || next.PC > place {
			return
		}
		g := s.function(next)
		if g == nil {
			return
		}
		pad := landingPad(g)
		before := len(s.forward)
		if s.from(next, guessed) {
			if pad {
				padSearch{s, s.prog.flows.Function(owner), before}.from(next)
			}
			return
		}
		if g.BrokenOff { // constants in the executable segment are functions without an end
			return
		}
		if !pad {
			owner = next
		}
		at = next
	}
}

// behind is where the code behind a function begins, or behind a landing pad of the owner: the
// owner may go on there, with its literals at the end.
func behind(f, owner *dataflow.Function, mode cpu.Mode) disasm.Addr {
	next := disasm.Addr{PC: f.SkipData(disasm.Addr{PC: f.ContiguousEnd(), Mode: mode}), Mode: mode}
	if owner.Contains(next.PC) {
		next.PC = dataflow.EndFrom(owner, next.PC)
	}
	next.PC = owner.SkipData(next)
	return next
}
