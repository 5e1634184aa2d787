package stackwalk

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Walker is the unwind.Walker.
type Walker struct {
	snap   *target.Snapshot
	opt    Options
	finder finder
	fast   fastPath
	caches bool            // fast is used: nobody wants to see every step
	named  bool            // some modules are of the build that ran by their names alone
	own    target.Snapshot // the snapshot as a thread with memory of its own sees it
	frame  State           // the frame being unwound
	regs   cpu.Registers   // its registers
	sample *sampled        // of WalkSample; made when first needed
	// maxFrames bounds the frames of this walk.
	maxFrames int
	folding   folding
	circle    circle
}

// NewWalker returns a Walker over snap.
func NewWalker(snap *target.Snapshot, opt Options) *Walker {
	if opt.MaxFrames <= 0 {
		opt.MaxFrames = unwind.DefaultMaxFrames
	}
	w := &Walker{snap: snap, opt: opt, caches: opt.Explain == nil && opt.Registers == nil, named: slices.ContainsFunc(snap.Modules, isNamed)}
	w.finder.init(&opt, newSourceLists(&opt))
	w.finder.packs, w.fast.finder = true, &w.finder
	w.fast.modules.shared, w.fast.local.most = opt.Shared, maxTable
	if opt.Unchecked && opt.Shared != nil {
		w.fast.local.most = smallTable
	}
	return w
}

// Use implements unwind.Walker.
func (w *Walker) Use(snap *target.Snapshot) {
	if snap.Arch != w.snap.Arch || snap.CodeMask != w.snap.CodeMask || !sameModules(snap.Modules, w.snap.Modules) {
		w.fast.forget()
		w.named = slices.ContainsFunc(snap.Modules, isNamed)
	}
	w.snap = snap
}

func sameModules(a, b []*target.Module) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	if &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if a[i] != b[i] && (a[i].Image != b[i].Image || a[i].Range != b[i].Range || a[i].Bias != b[i].Bias || a[i].Named != b[i].Named) {
			return false
		}
	}
	return true
}

// Walk implements unwind.Walker.
func (w *Walker) Walk(t *target.Thread, dst []unwind.Frame) ([]unwind.Frame, unwind.Stop) {
	return w.WalkWithin(t, dst, Limits{Cost: MaxCost})
}

// WalkWithin is Walk with limits, those that an Allowance has for t.
func (w *Walker) WalkWithin(t *target.Thread, dst []unwind.Frame, l Limits) ([]unwind.Frame, unwind.Stop) {
	snap := w.snap
	if t.Memory != nil && t.Memory != snap.Memory { // snap.Of(t), without an allocation for each sample of a profile
		w.own = *snap
		w.own.Memory, snap = t.Memory, &w.own
	}
	return w.walk(snap, t, dst, l)
}

// Repeats implements unwind.Walker.
func (w *Walker) Repeats() unwind.Repeats { return w.folding.repeats }

// Spent is what the last walk cost, for Allowance.Charge; valid until the next walk.
func (w *Walker) Spent() []Spent { return w.finder.account.spent }

// walk walks thread t of snap and says of the frames how sure they are.
func (w *Walker) walk(snap *target.Snapshot, t *target.Thread, dst []unwind.Frame, l Limits) ([]unwind.Frame, unwind.Stop) {
	first := len(dst)
	w.finder.account.limit, w.maxFrames = l.Cost, w.opt.MaxFrames
	if l.Frames > 0 {
		w.maxFrames = min(w.maxFrames, l.Frames)
	}
	w.folding = folding{repeats: w.folding.repeats[:0], next: foldEvery}
	dst, ok := w.start(snap, t, dst)
	if !ok {
		return dst, unwind.Stop{Reason: unwind.StopNoRule}
	}
	dst, end := w.callers(dst, first)
	var rest []unwind.Frame
	var cfa uint64 // of the last frame, where others were found behind
	if end.Reason == unwind.StopUnreadable && t.Entered != 0 && basisOf(dst[len(dst)-1].Method) != bySearch {
		if marks, root, ok := listedBehind(w.opt.CallGraph, snap, t, dst[first:]); ok {
			rest, cfa = w.finder.toEntry(&w.frame, marks, root)
		}
	}
	within, left := withinStack(snap, t, dst[first:])
	if first+within < len(dst) {
		dst, rest, end = dst[:first+within], nil, ending{Stop: unwind.Stop{Reason: unwind.StopUnreadable, Addr: t.Stack.Hi}}
	}
	if w.opt.CallGraph != nil {
		bindLazily(snap, dst[first:], w.opt.CallGraph)
		leaveOthersOut(snap, dst[first:], w.opt.CallGraph)
	}
	corroborate(dst[first:], end.Reason == unwind.StopRoot, w.opt.CallGraph, &interiors{snap: snap, graph: w.opt.CallGraph, repeats: w.folding.repeats})
	if last := len(dst) - 1; last > first && end.deadEnd() {
		LimitTrust(&dst[last], unwind.Likely, unwind.CapDeadEnd)
	}
	if left {
		doubtLeft(dst[first:])
	}
	if t.Stale {
		for i := range dst[first:] {
			LimitTrust(&dst[first+i], unwind.Guess, unwind.CapStale)
		}
	}
	if w.named {
		doubtBuilds(dst[first:])
	}
	if len(rest) > 0 && len(dst)-first+len(rest) <= w.maxFrames {
		dst[len(dst)-1].CFA, dst[len(dst)-1].HasCFA = cfa, true
		dst = append(dst, rest...)
	}
	return dst, end.Stop
}

// doubtBuilds makes guesses of the callers from the first frame on in a binary, or by a symbol file, that its name alone found.
func doubtBuilds(frames []unwind.Frame) {
	named := false
	for i := range frames {
		f := &frames[i]
		if named || i > 0 && isNamed(f.Module) {
			LimitTrust(f, unwind.Guess, unwind.CapNamed)
		}
		named = named || isNamed(f.Module)
	}
}

// isNamed tells whether a module is of that build by its name alone.
func isNamed(m *target.Module) bool { return m != nil && m.Named }

// start appends the innermost frame and sets w.frame to it. It reports false where the thread's PC
// is unknown.
func (w *Walker) start(snap *target.Snapshot, t *target.Thread, dst []unwind.Frame) ([]unwind.Frame, bool) {
	pc, mode, ok := snap.Arch.PCOf(&t.Regs)
	if !ok {
		return dst, false
	}
	w.finder.account.reset()
	w.finder.payments.reset()
	w.regs = t.Regs
	m, _ := snap.ModuleAt(pc)
	if snap.Arch.NeverCode(pc) {
		m = nil
	}
	f := unwind.Frame{PC: pc, Mode: mode, CallSite: pc, Exact: true, Module: m, Method: unwind.MethodContext}
	SetChecks(&f, executable(snap, pc, m))
	if t.Waits {
		waitsIn(&f, snap)
	}
	w.frame = State{Snapshot: snap, Thread: t, Regs: &w.regs, PC: pc, Site: f.CallSite, Mode: mode, Exact: f.Exact, Module: m, Stack: snap.StackOf(t)}
	w.frame.followStack()
	w.frame.findShadow()
	w.circle.from(&w.frame)
	return append(dst, f), true
}

// waitsIn makes the innermost frame f a frame that waits in a call, where a call stands before its PC:
// the PC of a thread that is switched out is a return address.
func waitsIn(f *unwind.Frame, snap *target.Snapshot) {
	site, kind := callsite.BeforeIn(snap, f.Module, f.PC, f.Mode)
	if kind != callsite.Call {
		return
	}
	f.CallSite, f.Exact = site.Addr, false
	f.Checks |= unwind.CallBefore
}

// callers appends the callers of the frame at first, one after the other: from the caches
// as far as these know the way, else the best candidate that the sources find. Each frame is
// trusted as if the frames further out corroborated it; corroborate looks back later.
func (w *Walker) callers(dst []unwind.Frame, first int) ([]unwind.Frame, ending) {
	for {
		if w.caches && w.frame.shadow.top == 0 {
			var ended bool
			if dst, ended = w.fast.advance(&w.frame, dst, first+w.room()); ended {
				return dst, ending{Stop: w.fast.end}
			}
		}
		w.frame.Index = len(dst) - 1 - first + w.folding.omitted
		w.observe(w.frame.Index)
		if w.frame.Index+1 >= w.maxFrames {
			return dst, ending{Stop: unwind.Stop{Reason: w.reasonOfLimit(), Addr: w.frame.PC}}
		}
		r := w.finder.find(&w.frame)
		c := &r.best
		if (!c.valid || c.trust == unwind.Guess || c.end && r.stop.Reason == unwind.StopNullPC) && w.atThreadStart() {
			return dst, ending{Stop: unwind.Stop{Reason: unwind.StopRoot}}
		}
		if !c.valid {
			return dst, ending{r.stop, r.refuted}
		}
		at := placeOf(w.frame.PC, w.frame.Mode, w.frame.Exact)
		if known, ok := cacheable(&w.frame, &r); !ok {
			w.finder.pay(at, r.cost, r.searched)
		} else {
			w.finder.pay(at, known.caller.cost(), 0) // what a walker pays that finds the caller in a cache
			if w.caches {
				w.fast.learn(&w.frame, known, c)
			}
		}
		callee := &dst[len(dst)-1]
		leave(callee, c)
		if c.end {
			if c.exits != 0 {
				c.checks = c.exits
				dst = append(dst, c.frame())
			}
			return dst, ending{Stop: r.stop}
		}
		switch {
		case w.circle.closes(&w.frame, c):
			return dst, ending{Stop: unwind.Stop{Reason: unwind.StopLoop, Addr: c.pc}}
		case w.circle.interrupts(&w.frame, c):
			return dst, ending{Stop: unwind.Stop{Reason: unwind.StopCost, Addr: c.pc}}
		}
		dst = append(dst, c.frame())
		w.frame.enter(c)
		if w.folds(len(dst) - first) {
			dst = dst[:first+len(w.folding.fold(dst[first:]))]
		}
	}
}

// reasonOfLimit is why a walk has no more frames: the user's limit, or that of threads which share a stack.
func (w *Walker) reasonOfLimit() unwind.StopReason {
	if w.maxFrames < w.opt.MaxFrames {
		return unwind.StopCost
	}
	return unwind.StopLimit
}

// room is how many frames the list of this walk may have before the walk ends, or before recursion is folded.
func (w *Walker) room() int {
	room := w.maxFrames - w.folding.omitted
	if w.opt.Fold {
		room = min(room, w.folding.next)
	}
	return room
}

// folds tells whether recursion is to be folded in a list of so many frames. A thread whose frames the capture lists is
// left as it is: the lists are compared.
func (w *Walker) folds(listed int) bool {
	return w.opt.Fold && listed >= w.folding.next && len(w.frame.Thread.Listed) == 0
}

// atThreadStart tells whether the thread began in the frame to be unwound: when the frame's call
// returns, the code goes on to end the thread. Nobody called such a frame; the stack above it holds
// what the thread was created with. Where the frame has an unwind table, the table tells that the
// stack ends here. A thread that waits has a return address as its PC; where that is the beginning of a function
// instead, the thread has not run yet: a task that was forked goes to user space by Linux's ret_from_fork.
func (w *Walker) atThreadStart() bool {
	s, graph := &w.frame, w.opt.CallGraph
	switch {
	case !s.Exact:
		return s.stackIsEmpty() || graph != nil && graph.EndsThread(s.Module, s.PC, s.Mode)
	case s.Index > 0 || !s.Thread.Waits || graph == nil:
		return false
	}
	return graph.StartsFunction(s.Module, s.PC, s.Mode, cpu.CallSite{})
}

func (w *Walker) observe(frame int) {
	if w.opt.Registers != nil {
		w.opt.Registers(frame, &w.regs)
	}
}

// leave completes a frame whose caller was found.
func leave(f *unwind.Frame, c *candidate) {
	f.CFA, f.HasCFA = c.CFA, c.HasCFA && !c.end
	if c.method == unwind.MethodSigframe {
		f.Method = unwind.MethodSigframe
		if f.Trust < unwind.Certain {
			f.Checks |= unwind.Disputed // by how the frame was found
		}
	}
}

// sampled is the program as a Sample shows it: the modules of the walker's snapshot, one
// thread, and no memory but its stack.
type sampled struct {
	snap   target.Snapshot
	memory target.Memory
	thread target.Thread
}

// WalkSample implements unwind.Walker.
func (w *Walker) WalkSample(s *unwind.Sample, dst []unwind.Frame) ([]unwind.Frame, unwind.Stop) {
	if w.sample == nil {
		w.sample = new(sampled)
	}
	p := w.sample
	p.memory.Hold(w.snap.Arch, s.Base, s.Stack)
	p.snap = target.Snapshot{Arch: w.snap.Arch, OS: w.snap.OS, Modules: w.snap.Modules, CodeMask: w.snap.CodeMask, Memory: &p.memory}
	p.thread.Regs = s.Regs
	dst, stop := w.walk(&p.snap, &p.thread, dst, Limits{Cost: MaxCost})
	p.memory.Hold(w.snap.Arch, 0, nil)
	return dst, stop
}
