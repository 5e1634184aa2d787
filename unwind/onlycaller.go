package unwind

// Code may make up for a return address that a capture lacks. The report of an oops on MIPS prints 40 words of
// the stack. Where Linux's function graph tracer runs, all return addresses on the stack are that of
// return_to_handler, and no report prints the originals. The rule tells the caller's SP all the same, and the
// code tells which calls lead to the function (CallGraph.Callers). Each caller keeps its own return address at
// another distance from SP:
//
//	mid_c      sp+8:   return_to_handler        callers of mid_c: mid_b only
//	mid_b      sp+240: return_to_handler        callers of mid_b: mid_a, big_frame
//	mid_a      sp+8:   return_to_handler        fits
//	big_frame  sp+5024: a number                does not
//
// If one call remains, its function is the caller: at most likely, as are the frames further out.

// elimination finds the caller whose PC was lost.
type elimination struct {
	*finder
	search *search
}

// run offers the caller, if there is but one call that can have led to the frame.
func (f *elimination) run() {
	r, s, v := f.search, f.search.frame, &f.verifier
	if r.best.valid && r.best.trust > Guess || v.graph == nil || v.isAhead || s.Module == nil {
		return
	}
	if r.hooked {
		r.best, r.stop, r.refuted = candidate{}, Stop{StopNoRule, f.lost.raw & s.Snapshot.Arch.AddrMask()}, true // a tracer's code is no caller
	}
	returns, all := v.graph.Callers(s.Module, s.Site, s.Mode)
	if !all {
		return
	}
	if c, ok := f.onlyFitting(returns); ok {
		r.best = c
		f.explain.candidate(s, &c, nil, 0, "")
	}
}

// onlyFitting is the caller whose return address is the only one of returns that the capture does not
// contradict; ok is false where several remain, or none.
func (f *elimination) onlyFitting(returns []uint64) (c candidate, ok bool) {
	r, s, v := f.search, f.search.frame, &f.verifier
	fit, open := candidates{}, candidates{}
	p, values := passing{graph: v.graph, arch: s.Snapshot.Arch}, argumentsOf(s, f.lost.CFA, v.graph)
	for _, ra := range returns {
		c := f.lost
		if c.raw = ra; s.Snapshot.Arch.ISABit {
			c.raw |= uint64(s.Mode)
		}
		v.gather(s, &c)
		if v.impossible(s, &c) != "" || contradicted(&c) != "" {
			continue
		}
		var agrees Answer
		if agrees, c.arguments = p.agrees(&c, values); agrees == No {
			continue
		}
		switch there := f.fits(&c); {
		case there == Yes, there == Unknown && agrees == Yes:
			fit.add(&c)
		case there == Unknown:
			open.add(&c)
		}
	}
	only := fit
	if fit.n == 0 {
		only = open
	}
	c = only.last
	c.checks |= OnlyCaller | Disputed
	if r.hooked {
		c.checks |= ReturnHooked
	}
	c.judge()
	if fit.n > 0 && open.n > 0 {
		c.limit(Guess, CapSeveralFit)
	}
	return c, only.n == 1
}

// candidates counts candidates, and keeps the last.
type candidates struct {
	n    int
	last candidate
}

func (l *candidates) add(c *candidate) { l.n, l.last = l.n+1, *c }

// fits tells whether the frame that c leads to can lie there: Unknown where its return address was not
// captured.
func (f *elimination) fits(c *candidate) Answer {
	r := f.searchFrom(f.search.frame, c)
	switch {
	case r.hooked, r.best.valid && r.best.trust > Guess && (!r.best.end || r.stop.Reason == StopRoot):
		return Yes
	case r.beyond, r.untried, r.starved:
		return Unknown
	}
	return No
}
