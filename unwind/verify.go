package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// judge gathers the evidence for w.try, rejects it or keeps it if it is the best
// candidate so far.
func (w *Walker) judge() {
	c := &w.try
	c.pc, c.mode = w.snap.Arch.SplitCode(c.raw)
	if c.Exact {
		if pc, mode, ok := w.snap.Arch.PCOf(&c.Regs); ok {
			c.pc, c.mode = pc, mode
		}
		c.checks |= Interrupted
	}
	w.strip()
	c.Regs.Set(w.snap.Arch.PC, c.pc)
	if c.flags&FromEntry != 0 {
		c.checks |= EntryKnown
	}
	if c.flags&Agreed != 0 {
		c.checks |= MethodsAgree
	}
	w.place()
	w.checkStack()
	w.checkCall()
	c.trust = trustOf(c.method, c.checks.hopeful())
	if c.flags&(Fallback|Inferred) != 0 {
		c.trust = min(c.trust, Likely)
	}
	if why := w.refuse(); why != "" {
		c.valid = false
		w.reportTry(why)
		return
	}
	if w.keep() {
		w.reportTry("")
	} else {
		w.reportTry("a better answer exists")
	}
}

// strip removes pointer authentication from a return address that leads nowhere as
// it stands. Where no capture told the mask, it is the first that makes it lead to
// code.
func (w *Walker) strip() {
	c := &w.try
	if w.snap.CodeMask == 0 && w.snap.Arch.AddrBits == nil || w.leads(c.pc) {
		return
	}
	if w.snap.CodeMask != 0 {
		c.pc &= w.snap.CodeMask
		c.raw = c.pc
		return
	}
	for _, n := range w.snap.Arch.AddrBits {
		if pc := unsigned(c.pc, n); w.leads(pc) {
			c.pc, c.raw = pc, pc
			return
		}
	}
}

// unsigned is a code pointer of n address bits without signature. Bit 55 tells the
// halves of the address space (Arm ARM, AddPAC) and is extended.
func unsigned(pc uint64, n uint8) uint64 {
	mask := uint64(1)<<n - 1
	if pc>>55&1 != 0 {
		return pc | ^mask
	}
	return pc & mask
}

// leads tells whether there is code at pc: a module's, or what is entered otherwise
// than by a call.
func (w *Walker) leads(pc uint64) bool {
	m, _ := w.snap.ModuleAt(pc)
	return w.executable(pc, m)&Executable != 0 || !w.try.Exact && w.landmark(pc, w.try.mode)
}

// place finds the module and whether the PC can be executed.
func (w *Walker) place() {
	c := &w.try
	c.site = c.pc
	if !c.Exact {
		c.site--
	}
	c.module, _ = w.snap.ModuleAt(c.site)
	c.checks |= w.executable(c.site, c.module)
	if !c.Exact && c.checks&Executable == 0 && w.landmark(c.raw, c.mode) {
		c.site, c.checks = c.pc, c.checks|AtTrampoline
		c.module, _ = w.snap.ModuleAt(c.pc)
		c.checks |= w.executable(c.pc, c.module)
	}
}

// executable returns Executable, CodeMissing or neither for an address.
func (w *Walker) executable(pc uint64, m *target.Module) Checks {
	if m != nil && m.Image != nil {
		img := m.ToImage(pc) & m.Image.Arch.AddrMask()
		if m.Image.Executable(img) {
			return Executable
		}
		if _, ok := m.Image.Segment(img); ok {
			return 0
		}
	}
	if perm, ok := w.snap.Memory.PermAt(pc); ok {
		if perm&target.PermExec != 0 {
			return Executable
		}
		return 0
	}
	if m != nil && m.Image == nil {
		return Executable | CodeMissing
	}
	return 0
}

// landmark tells whether a return address is entered otherwise than by a call.
func (w *Walker) landmark(raw uint64, mode cpu.Mode) bool {
	for _, l := range w.landmarks {
		if l.At(&w.state, raw, mode) {
			return true
		}
	}
	return false
}

// leadsOn tells whether the landmark at the caller's PC can be stepped over with
// the caller's stack pointer: a wrong CFA finds no signal frame. Where the stack was
// not captured so far, nothing speaks against it.
func (w *Walker) leadsOn() bool {
	c, b := &w.try, w.atLandmark()
	s := &b.state
	s.Regs, s.PC, s.Site, s.Mode, s.Exact, s.Module = &c.Regs, c.pc, c.pc, c.mode, false, c.module
	if c.module == nil {
		s.PC = c.raw
	}
	for _, l := range w.landmarks {
		if !l.At(s, c.raw, c.mode) {
			continue
		}
		if v := l.step.Step(s, &b.next); v == Found || v == NotCaptured {
			return true
		}
	}
	return false
}

// beyond is scratch space for the step over a landmark.
type beyond struct {
	state State
	regs  cpu.Registers
	next  Caller
}

// atLandmark returns it with the walker's state.
func (w *Walker) atLandmark() *beyond {
	if w.beyond == nil {
		w.beyond = new(beyond)
	}
	w.beyond.state = w.state
	return w.beyond
}

// witnessed tells whether the frame that a candidate leads to is proven by its own
// caller: it then really stands there.
func (w *Walker) witnessed() bool {
	if w.isAhead {
		return false
	}
	if w.ahead == nil {
		w.ahead = NewWalker(w.snap, Options{Sources: w.opt.Sources, CallGraph: w.opt.CallGraph})
		w.ahead.isAhead = true
	}
	w.ahead.state = w.state
	w.ahead.state.Regs = &w.ahead.regs
	w.ahead.enter(&w.try)
	return w.ahead.findCaller() && w.ahead.best.trust == Certain && w.ahead.best.checks.has(TargetMatches)
}

// checkStack compares the caller's stack pointer with the callee's.
func (w *Walker) checkStack() {
	c, arch := &w.try, w.snap.Arch
	sp, ok := c.Regs.Lookup(arch.SP)
	sp &= arch.AddrMask()
	old, known := w.regs.Lookup(arch.SP)
	old &= arch.AddrMask()
	if !ok {
		return
	}
	// A frame that made a call has its return address on the stack or below it,
	// except where RA is still in the register: then CFA == SP.
	if !known || sp > old || sp == old && (w.state.Exact || arch.LR != cpu.NoReg) {
		c.checks |= SPMonotonic
	}
	if sp&(max(arch.StackAlign, 1)-1) == 0 {
		c.checks |= SPAligned
	}
	if st := w.state.Stack; st.Lo == st.Hi || sp >= st.Lo && sp <= st.Hi {
		c.checks |= SPInStack
	}
}

// checkCall looks at the code before a return address.
func (w *Walker) checkCall() {
	c := &w.try
	if c.Exact || c.checks&(Executable|AtTrampoline) != Executable {
		return
	}
	site, verdict := returnsTo(w.snap, c.module, c.pc, c.mode)
	switch verdict {
	case Unknown:
		c.checks |= CodeMissing
		return
	case No:
		if w.landmark(c.raw, c.mode) {
			c.site, c.checks = c.pc, c.checks|AtTrampoline
			return
		}
		c.checks |= NoCall
		return
	}
	c.checks |= CallBefore
	c.site = site.Addr
	w.checkTarget(site)
	if w.opt.CallGraph != nil && !w.isAhead && c.checks&TargetDiffers == 0 && w.oneBitAway(site) {
		c.checks |= OneBitAway
	}
}

// checkTarget compares where the call goes with where the callee is. A trampoline
// or an interrupted frame was not entered by that call.
func (w *Walker) checkTarget(site cpu.CallSite) {
	c := &w.try
	c.alone = !site.Direct || c.module == w.state.Module
	if w.opt.CallGraph == nil || c.method == MethodSigframe {
		return
	}
	entry, mode := site.Target, site.TargetMode
	if site.Direct {
		starts := w.startsAt(entry)
		if starts || w.stubFor(entry, mode) {
			c.checks |= TargetMatches
			c.entry, c.alone = entry, c.alone && starts
			return
		}
	} else {
		if c.method.basis() == inTable && !w.isAhead {
			return // tables need no such witness, and where the call goes is much work to find out
		}
		c.alone = false
		var ok bool
		if entry, mode, ok = w.opt.CallGraph.Callee(w.snap, site.Addr, c.mode); !ok {
			return
		}
	}
	a, alone := w.opt.CallGraph.Reaches(w.snap, entry, mode, w.state.Site)
	c.alone = c.alone && alone
	switch a {
	case Yes, YesByJump:
		c.checks |= TargetMatches
		if a == YesByJump {
			c.checks |= TargetUnclear
		}
		c.entry = entry
	case Unknown:
		if site.Direct {
			c.checks |= TargetUnclear
		}
	case No:
		switch {
		case !site.Direct:
		case w.splitOff():
			c.checks |= TargetUnclear
		default:
			c.checks |= TargetDiffers
		}
	}
}

// splitOff tells whether the callee runs in a part of a function that stands elsewhere:
// what the table says of the part's first instruction is not what holds where a call
// goes. Landing pads of GCC's f.cold are reached by the runtime alone.
func (w *Walker) splitOff() bool {
	if w.try.flags&StartStated == 0 {
		return false
	}
	src := w.ruleSource(w.try.method)
	if src == nil {
		return false
	}
	asked := w.query
	defer func() { w.query = asked }()
	q, cfa := &w.query, &w.table.CFA
	q.PC, q.Resume, q.Exact, q.Try = w.rule.Start, w.rule.Start, true, 0
	w.table.Reset()
	return src.Rule(q, &w.table) == Found && (cfa.Kind != RegPlus || cfa.Base != q.Arch.SP || cfa.Off != q.Arch.EntryCFA)
}

// startsAt tells whether the callee's function begins at entry by the table that the
// rule comes from: what most calls are to be checked against, without a look at code.
func (w *Walker) startsAt(entry uint64) bool {
	m := w.state.Module
	return w.try.flags&StartStated != 0 && m != nil && m.Contains(entry) && m.ToImage(entry)&m.Image.Arch.AddrMask() == w.rule.Start
}

// rank orders candidates of equal trust.
func (c *candidate) rank() int {
	switch {
	case c.end:
		return 0
	case c.flags&Fallback != 0:
		return score(c.checks) - 15
	}
	return score(c.checks)
}

// stubFor tells whether entry is a stub for what startsAt asks for.
func (w *Walker) stubFor(entry uint64, mode cpu.Mode) bool {
	if w.try.flags&StartStated == 0 {
		return false
	}
	to, ok := w.opt.CallGraph.Stub(w.snap, entry, mode, w.state.Site)
	return ok && w.startsAt(to)
}

// score weighs what speaks for and against a candidate.
func score(c Checks) int {
	n := 0
	for _, w := range [...]struct {
		check  Checks
		weight int
	}{
		{TargetMatches, 40}, {AtTrampoline, 40}, {CallBefore, 20}, {MethodsAgree, 10}, {EntryKnown, 8}, {SPMonotonic, 5},
		{SPInStack, 4}, {SPAligned, 2}, {TargetDiffers, -40}, {NoCall, -40}, {CodeMissing, -5},
	} {
		if c&w.check != 0 {
			n += w.weight
		}
	}
	return n
}

// refuse says why a candidate cannot be a frame at all, "" when it can.
func (w *Walker) refuse() string {
	c := &w.try
	switch {
	case c.checks&AtTrampoline != 0:
		if !w.leadsOn() {
			return "no signal or exception frame lies there"
		}
		return ""
	case c.checks&Executable == 0 && !c.Exact:
		return "the return address is not executable"
	case c.checks&SPMonotonic == 0 && !c.Exact:
		w.trip = Stop{StopNoProgress, c.pc}
		return "the stack pointer would not rise"
	case c.flags&Inferred != 0 && !w.witnessed():
		return "no frame of that caller lies there"
	case c.method.needsCall() && c.checks&NoCall != 0:
		return "no call stands before the return address"
	case c.method.needsCall() && c.checks&TargetDiffers != 0 && c.method.basis() != bySearch:
		return "the call before the return address goes elsewhere"
	}
	return ""
}
