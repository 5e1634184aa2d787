package stackwalk

import (
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/unwind"
)

// init makes f ask opt's sources.
func (f *finder) init(opt *Options, lists *sourceLists) {
	f.lists, f.explain.tell = lists, opt.Explain
	f.unchecked = opt.Unchecked
	f.verifier.graph, f.verifier.trampolines.sources = opt.CallGraph, lists.trampolines
	f.verifier.starts.lists = f.lists
}

// find asks the sources in order for the caller of the frame s. A candidate that
// convinces ends the search; a search through the stack is the last resort.
func (f *finder) find(s *State) search {
	if !f.verifier.isAhead {
		f.account.starved = f.account.exhausted()
	}
	r := search{frame: s, stop: unwind.Stop{Reason: unwind.StopNoRule, Addr: s.PC}, starved: f.account.starved}
	before := f.account.cost
	s.Cost, s.Limit = 0, f.account.left()
	for _, src := range f.asked(s) {
		if r.noCaller || (r.best.valid || r.beyond && !s.Exact || r.hooked) && basisOf(src.Method()) == bySearch {
			break
		}
		if f.unchecked && (r.beyond || r.answers > 0 && !outside(s.Module) && (src.Method() == unwind.MethodCode || basisOf(src.Method()) == bySearch)) {
			continue // what the table's rule needs was not captured; made code has no table
		}
		if r.best.valid && basisOf(src.Method()) == byConvention && logged(s.Module) {
			continue // its code says where the caller is; the frame pointer may be any frame's (HotSpot's optimized code)
		}
		switch src := src.(type) {
		case RuleSource:
			if !s.AtVector() {
				f.askRules(src, &r)
			}
		case FrameSource:
			f.askFrame(src, &r)
		}
		if r.best.convinces() {
			break
		}
	}
	f.crossCheck(&r)
	r.doubtSecondBest()
	if r.contested {
		r.dispute()
	}
	f.passTrampoline(&r)
	if r.lost {
		f.onlyCaller(&r)
	}
	r.cost, r.searched = f.account.cost-before, s.Cost
	f.account.cost = before
	return r
}

// doubtSecondBest disputes a caller that one derivation alone found, where another derivation's rule needs
// a register that is unknown. Example: a log shows only PC and SP of libgcc's division of doubles. One
// way out pops the return address of the whole division; all others return by LR, which is unknown,
// to where the division had called a part of itself. A frame that the first rule skips would be missed by
// nothing further out.
//
// So is a caller whose rule stands behind one that two derivations agree on, if that led to no caller: the word there
// may be damaged. Control seems to come to a verb of systemd-analyze from the function in front, which ends in a call
// that never returns, as its import does not tell; that function's frame ends where main's does.
//
// Where code that was made at run time was interrupted, it may be in a prologue, or keep no frame pointer, as where its code led to no
// caller: one is skipped then.
func (r *search) doubtSecondBest() {
	b := &r.best
	if b.valid && b.method == unwind.MethodFP && (r.frame.Exact || r.refuted && logged(r.frame.Module)) {
		b.limit(unwind.Guess, unwind.CapOneDerivation)
	}
	if !b.valid || b.method != unwind.MethodCode || b.checks.Proven() {
		return
	}
	if r.damaged || r.untried && b.checks&(unwind.EntryKnown|unwind.MethodsAgree) == 0 {
		b.checks |= unwind.Disputed
		b.limit(unwind.Likely, unwind.CapOneDerivation)
	}
}

// askRules takes a rule source's answers until one is certain.
func (f *finder) askRules(src RuleSource, r *search) {
	m := src.Method()
	q, ok := queryOutside(r.frame, m)
	if !ok {
		q, ok = queryOf(r.frame)
	}
	if !ok {
		return
	}
	if m == unwind.MethodCode && f.account.starved {
		r.stop.Reason = unwind.StopCost
		f.explain.verdict(r.frame, m, 0, unwind.TooCostly)
		return
	}
	f.query, f.query.Brief = q, f.account.limit < briefLimit
	defer func() { f.account.cost += f.query.Cost }()
	for ; f.query.Try < maxTries; f.query.Try++ {
		f.rule.Reset()
		v := src.Rule(&f.query, &f.rule)
		r.answered(v, true)
		if v != unwind.Found {
			f.explain.verdict(r.frame, m, f.query.Try, v)
			r.noCaller = v == unwind.NoCaller
			if v == unwind.EndOfStack {
				r.end(m)
			}
			break
		}
		if f.packs && r.answers == 1 {
			r.first, r.packed = packed.Of(f.query.Arch, &f.rule)
		}
		e, applied := f.tryRule(m, &f.rule, r)
		if applied && e.trust == unwind.Certain {
			f.otherSlot(src, r)
			break
		}
		r.refuted = r.refuted || applied && !e.valid && basisOf(m) != byConvention && f.rule.Flags&Fallback == 0
		r.damaged = r.damaged || applied && !e.valid && agreedOn(m, &f.rule)
	}
	f.confirm(src, r)
}

// confirm asks a source that reasons from entries again, where the call before the caller's PC
// names the callee's entry. The answer from that entry is either the same, which proves it, or
// better. A PLT stub stands for the function that the stub jumps to. Example: in stripped code,
// the analysis took 0x401040 for the start of the function at PC; the caller's PC follows
// `call 0x401000`.
func (f *finder) confirm(src RuleSource, r *search) {
	m, b := r.frame.Module, &r.best
	if !b.valid || b.method != unwind.MethodCode || b.method != src.Method() || b.entry == 0 || b.checks.Has(unwind.EntryKnown|unwind.MethodsAgree) {
		return
	}
	entry := b.entry
	if !m.Contains(entry) {
		if entry, _ = f.verifier.graph.Stub(r.frame.Snapshot, entry, b.mode, r.frame.Site); !m.Contains(entry) {
			return
		}
	}
	f.query.Entry, f.query.HasEntry, f.query.Try = m.ToImage(entry)&m.Image.Arch.AddrMask(), true, 0
	before := b.evidence
	f.rule.Reset()
	if src.Rule(&f.query, &f.rule) == unwind.Found {
		f.rule.Flags |= FromEntry
		f.tryRule(b.method, &f.rule, r)
	}
	if r.best.evidence != before {
		r.answered(unwind.Found, true)
	}
}

// askFrame asks a frame source, once.
func (f *finder) askFrame(src FrameSource, r *search) {
	m, s := src.Method(), r.frame
	f.query.Try = 0
	f.step = Caller{}
	v := src.Step(s, &f.step)
	r.answered(v, false)
	switch v {
	case unwind.Found:
		c := newCandidate(m, nil)
		c.Caller = f.step
		c.raw, _ = c.Regs.Lookup(s.Snapshot.Arch.PC)
		if c.Sized {
			c.checks |= unwind.FrameSize
		}
		f.verify(&c, nil, r)
		return
	case unwind.EndOfStack:
		r.end(m)
	case unwind.TooCostly:
		r.stop.Reason = unwind.StopCost
	case unwind.NotCaptured:
		sp, _ := s.Regs.Lookup(s.Snapshot.Arch.SP)
		r.stop = unwind.Stop{Reason: unwind.StopUnreadable, Addr: sp & s.Snapshot.Arch.AddrMask()}
	case unwind.NoCaller:
		r.noCaller = true
	}
	f.explain.verdict(s, m, 0, v)
}

// passTrampoline replaces the best candidate by its caller, where the candidate is a trampoline that
// counts as no frame.
func (f *finder) passTrampoline(r *search) {
	if b := &r.best; !b.valid || b.end || b.checks&unwind.AtTrampoline == 0 {
		return
	}
	next, ok := f.verifier.trampolines.pass(r.frame, &r.best)
	if !ok {
		return
	}
	callee := r.best.trust
	r.best = candidate{}
	f.verify(&next, nil, r)
	if callee < unwind.Certain {
		r.best.limit(callee, unwind.CapInherited)
		r.best.checks |= unwind.Disputed
	}
}

// asked are the sources to ask about a frame. Who wants to see what each says asks all.
func (f *finder) asked(s *State) []Source {
	all, exact := f.lists.all, f.lists.exact
	if s.Module != nil && s.Module.Image != nil && f.explain.tell == nil {
		known := f.lists.of(s.Module.Image)
		all, exact = known.all, known.exact
	}
	if s.Exact {
		return exact
	}
	return all
}
