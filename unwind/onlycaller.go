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

// onlyCaller offers the caller whose PC was lost, if there is but one call that can have led to the frame.
func (f *finder) onlyCaller(r *search) {
	s := r.frame
	if r.best.valid && r.best.trust > Guess || f.verifier.graph == nil || f.verifier.isAhead || s.Module == nil {
		return
	}
	if r.hooked {
		r.best, r.stop, r.refuted = candidate{}, Stop{StopNoRule, f.lost.raw & s.Snapshot.Arch.AddrMask()}, true // a tracer's code is no caller
	}
	calls := f.verifier.graph.Callers(nil, s.Module, s.Site, s.Mode)
	if !calls.All {
		return
	}
	if c, ok := f.onlyFitting(r, calls.Returns); ok {
		r.best = c
		f.explain.candidate(s, &c, nil, 0, "")
	}
}

// onlyFitting is the caller whose return address is the only one of returns that the capture does not
// contradict; ok is false where several remain, or none.
func (f *finder) onlyFitting(r *search, returns []uint64) (c candidate, ok bool) {
	fit, open := candidates{}, candidates{}
	callers := f.callersOf(r.frame, &f.lost, false)
	for _, ra := range returns {
		c, agrees := callers.returningTo(ra)
		if agrees == No {
			continue
		}
		switch there := f.fits(r.frame, &c); {
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
	return c, only.n == 1 && !f.noEdgesLeft()
}

// candidates counts candidates, and keeps the last.
type candidates struct {
	n    int
	last candidate
}

func (l *candidates) add(c *candidate) { l.n, l.last = l.n+1, *c }

// fits tells whether the frame that c, a caller of s, leads to can lie there: Unknown where its return address was not
// captured.
func (f *finder) fits(s *State, c *candidate) Answer {
	r := f.searchFrom(s, c)
	switch {
	case r.hooked, r.best.valid && r.best.trust > Guess && (!r.best.end || r.stop.Reason == StopRoot):
		return Yes
	case r.beyond, r.untried, r.starved:
		return Unknown
	}
	return No
}
