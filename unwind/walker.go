package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Source is a RuleSource or a FrameSource.
type Source interface{ Method() Method }

// Options configure a Walker.
type Options struct {
	// Sources in the order in which they are asked.
	Sources []Source
	// CallGraph checks call targets; nil: those checks are left out.
	CallGraph CallGraph
	// Shared, if set, is what walkers with the same Sources and CallGraph leave for one
	// another.
	Shared *Shared
	// MaxFrames bounds a walk; 0 means DefaultMaxFrames.
	MaxFrames int
	// Explain, if set, is told of every question and its answer.
	Explain func(Attempt)
	// Registers, if set, is shown every frame's registers as the frame is found;
	// they are valid during the call only.
	Registers func(frame int, regs *cpu.Registers)
}

// DefaultMaxFrames is the contract's default of --max-frames.
const DefaultMaxFrames = 1024

// Walker walks stacks of one snapshot. It owns scratch space: one per goroutine.
type Walker struct {
	snap      *target.Snapshot
	opt       Options
	landmarks []landmark

	regs   cpu.Registers // of the frame being unwound
	state  State
	query  Query
	rule   Rule
	try    candidate // being verified
	best   candidate // best so far for this frame
	trip   Stop      // why nothing was found, as far as known
	ahead  *Walker   // looks one frame further, for rules that need a witness
	beyond *beyond
	table  Rule // a table's rule while the code's is looked at
	// noCaller: a source said so of this frame. refuted: the rule of one led nowhere.
	noCaller, refuted bool
	// unproven is the index in dst of the first frame whose return address has no
	// witness of its own, 0 if there is none.
	unproven int
	// isAhead marks that walker, which looks no further itself.
	isAhead bool

	cache   cache
	cached  bool // the cache is used: nobody wants to see every step
	answers int  // how many there were for this frame
	ruled   bool // and the last one was a rule
	first   Packed
	packs   bool // first is the first answer
	view    window
	trail   []*Packed  // the rules that warm has come through
	keeps   cpu.RegSet // registers that a call keeps

	near     [2]known // the modules that facts were asked of
	recalled cachedRule
}

type landmark struct {
	Trampoline
	step FrameSource
}

// candidate is a possible caller.
type candidate struct {
	Caller
	evidence
}

// evidence is what is found out about a candidate.
type evidence struct {
	raw    uint64 // PC as recovered, ISA bit included
	pc     uint64
	mode   cpu.Mode
	site   uint64
	entry  uint64 // where the call before pc goes, if that is the callee's function
	module *target.Module
	method Method
	flags  RuleFlags
	checks Checks
	trust  Trust
	valid  bool
	end    bool // the stack ends here
	// alone: the code of the images decided about the call, and no word of the capture.
	alone bool
}

// reset makes c an empty candidate of a source. Registers that are not known need
// no clearing.
func (c *candidate) reset(m Method) {
	c.Regs.Known = 0
	c.CFA, c.HasCFA, c.Exact, c.NotAFrame = 0, false, false, false
	c.evidence = evidence{method: m, valid: true}
}

// NewWalker returns a Walker over snap.
func NewWalker(snap *target.Snapshot, opt Options) *Walker {
	if opt.MaxFrames <= 0 {
		opt.MaxFrames = DefaultMaxFrames
	}
	w := &Walker{snap: snap, opt: opt, keeps: snap.Arch.Preserved, cached: opt.Explain == nil && opt.Registers == nil}
	for _, s := range opt.Sources {
		l, isLandmark := s.(Trampoline)
		step, isFrame := s.(FrameSource)
		if isLandmark && isFrame {
			w.landmarks = append(w.landmarks, landmark{l, step})
		}
	}
	return w
}

// Walk appends the frames of thread t to dst, innermost first, and says why it
// stopped. A thread whose PC is unknown has no frames.
func (w *Walker) Walk(t *target.Thread, dst []Frame) ([]Frame, Stop) {
	first := len(dst)
	w.unproven = 0
	dst, stop := w.walk(t, dst)
	if w.unproven > first && w.opt.CallGraph != nil {
		settle(dst[first:], w.unproven-first, stop.Reason == StopRoot)
		w.locate(dst[w.unproven:])
	}
	if last := len(dst) - 1; last > first && w.astray(stop) {
		dst[last].Trust = min(dst[last].Trust, Likely)
	}
	return dst, stop
}

// astray tells whether the last frame's own rule led to nothing: then the frame may not
// be that of the function that its return address is in. A handler was entered with
// the address of the signal trampoline, which raise, that it ended in, was to return to;
// one behind another call of raise in its place was followed by the trampoline's frame.
func (w *Walker) astray(stop Stop) bool {
	switch stop.Reason {
	case StopNullPC, StopNoProgress, StopLoop:
		return true
	case StopNoRule:
		return w.refuted
	}
	return false
}

// walk does it, taking for granted that frames are vouched for; w.unproven is the
// first that needs that.
func (w *Walker) walk(t *target.Thread, dst []Frame) ([]Frame, Stop) {
	pc, mode, ok := w.snap.Arch.PCOf(&t.Regs)
	if !ok {
		return dst, Stop{Reason: StopNoRule}
	}
	w.regs = t.Regs
	w.state = State{Snapshot: w.snap, Thread: t, Regs: &w.regs, PC: pc, Site: pc, Mode: mode, Exact: true, Stack: w.snap.StackOf(t)}
	w.state.Module, _ = w.snap.ModuleAt(pc)
	first := len(dst)
	dst = append(dst, Frame{PC: pc, Mode: mode, CallSite: pc, Exact: true, Module: w.state.Module,
		Method: MethodContext, Trust: Certain, Checks: w.executable(pc, w.state.Module)})
	for {
		if w.cached {
			var ended bool
			if dst, ended = w.warm(dst, first); ended {
				return dst, Stop{Reason: StopRoot}
			}
		}
		w.observe(len(dst) - 1 - first)
		if len(dst)-first >= w.opt.MaxFrames {
			return dst, Stop{StopLimit, w.state.PC}
		}
		f := &dst[len(dst)-1]
		w.state.Index = len(dst) - 1 - first
		if !w.findCaller() {
			return dst, w.trip
		}
		if w.cached {
			w.remember()
		}
		c := &w.best
		f.CFA, f.HasCFA = c.CFA, c.HasCFA
		if c.method == MethodSigframe {
			f.Method = MethodSigframe
		}
		if c.end {
			f.HasCFA = false
			return dst, w.trip
		}
		if c.Exact && looped(dst[first:], c) {
			return dst, Stop{StopLoop, c.pc}
		}
		dst = append(dst, Frame{PC: c.pc, Mode: c.mode, CallSite: c.site, Exact: c.Exact, Module: c.module,
			Method: c.method, Checks: c.checks, Trust: min(c.trust, f.Trust)})
		if w.unproven == 0 && (c.trust == Guess || !c.checks.placed()) {
			w.unproven = len(dst) - 1
		}
		w.enter(c)
	}
}

// enter makes the accepted candidate the frame to be unwound next.
func (w *Walker) enter(c *candidate) {
	w.regs = c.Regs
	s := &w.state
	s.PC, s.Site, s.Mode, s.Exact, s.Module = c.pc, c.site, c.mode, c.Exact, c.module
	if sp, ok := w.regs.Lookup(w.snap.Arch.SP); ok && !s.Stack.Contains(sp) {
		s.Stack = w.snap.Memory.RangeAt(sp & w.snap.Arch.AddrMask()) // another stack: sigaltstack, PSP
	}
}

// looped tells whether an interrupted frame came up before: signal frames may
// lead downwards, so that only they can close a circle.
func looped(frames []Frame, c *candidate) bool {
	for i := range frames {
		if frames[i].PC == c.pc && frames[i].Exact && frames[i].HasCFA && c.HasCFA && frames[i].CFA == c.CFA {
			return true
		}
	}
	return false
}

func (w *Walker) observe(frame int) {
	if w.opt.Registers != nil {
		w.opt.Registers(frame, &w.regs)
	}
}

// findCaller asks the sources in order and leaves the best candidate in w.best;
// without one it leaves the reason in w.trip. A candidate that is at least likely
// ends the search, unless its source offered it as a mere fallback.
func (w *Walker) findCaller() bool {
	w.best.evidence, w.answers = evidence{}, 0
	w.trip = Stop{StopNoRule, w.state.PC}
	w.noCaller, w.refuted = false, false
	for _, src := range w.opt.Sources {
		if w.noCaller || w.best.valid && src.Method() == MethodScan {
			break // a scan is the last resort
		}
		switch s := src.(type) {
		case RuleSource:
			w.askRules(s)
		case FrameSource:
			w.askFrame(s)
		}
		if w.best.valid && w.settled() {
			break
		}
	}
	w.crossCheck()
	if w.best.valid && !w.best.end && w.best.checks&AtTrampoline != 0 {
		w.passLandmark()
	}
	return w.best.valid
}

// settled tells whether the best answer so far ends the search. One that FP's
// convention or a fallback gave does not.
func (w *Walker) settled() bool {
	c := &w.best
	return c.trust == Certain || c.trust == Likely && c.method != MethodFP && c.flags&Fallback == 0
}

// answered counts what sources know of a frame.
func (w *Walker) answered(v Verdict, rule bool) {
	if v == Found || v == EndOfStack {
		w.answers++
		w.ruled = rule
	}
}

// maxTries bounds the answers taken from one source for one frame.
const maxTries = 8

// askRules takes a rule source's answers until one is certain.
func (w *Walker) askRules(src RuleSource) {
	if !w.prepareQuery() {
		return
	}
	for w.query.Try = 0; w.query.Try < maxTries; w.query.Try++ {
		w.rule.Reset()
		v := src.Rule(&w.query, &w.rule)
		w.answered(v, true)
		if v != Found {
			w.report(src.Method(), v)
			w.noCaller = v == NoCaller
			if v == EndOfStack {
				w.endHere(src.Method())
			}
			break
		}
		if w.cached && w.answers == 1 {
			w.first, w.packs = Pack(w.query.Arch, &w.rule)
		}
		applied := w.applyRule(src.Method())
		if applied && w.try.trust == Certain {
			break
		}
		w.refuted = w.refuted || applied && !w.try.valid && src.Method() != MethodFP && w.rule.Flags&Fallback == 0
	}
	w.confirm(src)
}

// confirm asks a source that reasons from entries again, where the call before the
// caller's PC named the callee's entry: the answer from there either is the same,
// and then proven, or better.
func (w *Walker) confirm(src RuleSource) {
	m := w.state.Module
	if b := &w.best; !b.valid || b.method != MethodCode || b.method != src.Method() || b.entry == 0 ||
		b.checks.has(EntryKnown|MethodsAgree) || !m.Contains(b.entry) {
		return
	}
	w.query.Entry, w.query.HasEntry, w.query.Try = m.ToImage(w.best.entry)&m.Image.Arch.AddrMask(), true, 0
	before := w.best.evidence
	w.table = w.rule
	w.rule.Reset()
	if src.Rule(&w.query, &w.rule) == Found {
		w.rule.Flags |= FromEntry
		w.applyRule(src.Method())
	}
	if w.best.evidence == before {
		w.rule = w.table // nothing better: the answer is still the first
	} else {
		w.answered(Found, true)
	}
}

// prepareQuery translates the state into image addresses.
func (w *Walker) prepareQuery() bool {
	m := w.state.Module
	if m == nil || m.Image == nil {
		return false
	}
	pc := m.ToImage(w.state.PC) & m.Image.Arch.AddrMask()
	w.query = Query{Image: m.Image, Arch: m.Image.Arch, PC: pc, Resume: pc, Mode: w.state.Mode, Exact: w.state.Exact}
	if !w.state.Exact {
		w.query.PC = pc - 1
	}
	return true
}

// applyRule applies w.rule, verifies what it yields and keeps it if it is the
// best so far. The outcome is in w.try.
func (w *Walker) applyRule(m Method) bool {
	w.try.reset(m)
	w.try.flags = w.rule.Flags
	res, oc := Apply(w.query.Arch, &w.rule, &w.regs, w.snap.Memory, w.snap.CodeMask, &w.try.Regs)
	switch oc {
	case Applied:
	case RuleEnds:
		w.report(m, EndOfStack)
		w.endHere(m)
		return false
	case MissingMemory:
		w.trip = Stop{StopUnreadable, res.Addr}
		w.decline(m, "memory was not captured")
		return false
	default:
		w.decline(m, "a register it needs is unknown")
		return false
	}
	if w.buried(res.CFA) {
		w.decline(m, "the return address would lie below the stack pointer")
		return false
	}
	w.try.CFA, w.try.HasCFA, w.try.raw = res.CFA, true, res.PC
	w.try.Exact = w.rule.Flags&SignalFrame != 0
	switch lr := w.query.Arch.ResetLR; {
	case res.PC == 0:
		w.nullPC(m)
		return false
	case lr != 0 && res.PC|1 == lr:
		w.noReturn(m, StopRoot, "LR as the reset left it")
		return false
	}
	w.judge()
	return true
}

// buried tells whether w.rule reads the return address below SP in a frame that
// made a call: there its callees have their frames.
func (w *Walker) buried(cfa uint64) bool {
	sp, ok := w.regs.Lookup(w.snap.Arch.SP)
	mask := w.snap.Arch.AddrMask()
	return ok && !w.state.Exact && w.rule.RA.Kind == AtCFA && (cfa+uint64(w.rule.RA.Off))&mask < sp&mask
}

// nullPC ends the stack at a return address of 0, unless a better answer exists.
// A rule that says so itself (_start clears RA) makes it the root.
func (w *Walker) nullPC(m Method) {
	reason := StopNullPC
	if w.rule.RA.Kind == Constant || w.rule.RA.Kind == SameValue {
		reason = StopRoot
	}
	w.noReturn(m, reason, "the return address is 0")
}

// noReturn ends the stack at a return address that leads nowhere.
func (w *Walker) noReturn(m Method, reason StopReason, why string) {
	c := &w.try
	c.end, c.trust, c.checks = true, Likely, 0
	if c.flags&Fallback != 0 || m == MethodCFI && w.state.Exact && w.ruleSource(MethodCode) != nil {
		c.trust = Guess // an exact frame's table may be wrong (crossCheck): the code is asked
	}
	if w.keep() {
		w.trip = Stop{Reason: reason}
	}
	w.reportTry(why)
}

// endHere records that the frame is the outermost one.
func (w *Walker) endHere(m Method) {
	w.best.reset(m)
	w.best.end, w.best.trust = true, Certain
	w.trip = Stop{Reason: StopRoot}
}

// askFrame asks a frame source.
func (w *Walker) askFrame(src FrameSource) {
	w.query.Try = 0
	w.try.reset(src.Method())
	v := src.Step(&w.state, &w.try.Caller)
	w.answered(v, false)
	if v != Found {
		w.report(src.Method(), v)
		switch v {
		case EndOfStack:
			w.endHere(src.Method())
		case NotCaptured:
			sp, _ := w.regs.Lookup(w.snap.Arch.SP)
			w.trip = Stop{StopUnreadable, sp & w.snap.Arch.AddrMask()}
		}
		return
	}
	w.try.raw, _ = w.try.Regs.Lookup(w.snap.Arch.PC)
	w.judge()
}

// passLandmark steps over places that are no frames of their own: the caller of
// a Cortex-M handler is an EXC_RETURN value, which stands for the exception frame.
func (w *Walker) passLandmark() {
	callee, b := w.best.evidence, w.atLandmark()
	b.regs = w.best.Regs
	s := &b.state
	s.Regs, s.PC, s.Mode, s.Exact = &b.regs, callee.raw, callee.mode, true
	for _, l := range w.landmarks {
		if !l.At(s, callee.raw, callee.mode) {
			continue
		}
		w.try.reset(l.step.Method())
		if l.step.Step(s, &w.try.Caller) != Found || !w.try.NotAFrame {
			return
		}
		w.try.raw, _ = w.try.Regs.Lookup(w.snap.Arch.PC)
		w.best.evidence = evidence{}
		w.judge()
		if w.best.valid {
			w.best.trust = min(w.best.trust, callee.trust)
		}
		return
	}
}

// keep makes w.try the best candidate if it beats the one so far; the earlier
// source wins a tie.
func (w *Walker) keep() bool {
	b, t := &w.best, &w.try
	if b.valid && (t.trust < b.trust || t.trust == b.trust && t.rank() <= b.rank()) {
		return false
	}
	w.best = w.try
	return true
}
