package unwind

import "github.com/backsight/backsight/cpu"

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

// reported tells whether the capture is a report: it prints some words of the stack, and lists frames.
func (s *State) reported() bool { return s.Thread != nil && len(s.Thread.Listed) > 0 }

// returnsToTracer tells whether c, the caller of s, has a tracer's address as its PC, in place of the one
// that the tracer keeps and a report does not print.
func (s *State) returnsToTracer(c *candidate) bool {
	if !s.reported() || c.Exact || len(s.Thread.Hooked) > 0 {
		return false
	}
	pc, _ := s.Snapshot.Arch.SplitCode(c.raw)
	return s.Snapshot.IsHook(pc)
}

// lose keeps what the surest of the sources knows of a caller whose PC is not known.
func (f *finder) lose(c *candidate, r *search, hooked bool) {
	if r.frame.reported() && !r.lost {
		f.lost, r.lost, r.hooked = *c, true, hooked
	}
}

// keepPreserved sets the registers that calls preserve and that a frame with this rule saved nowhere: they are the
// caller's, wherever the return address is.
func keepPreserved(out, in *cpu.Registers, rule *Rule, arch *cpu.Arch) {
	for set := in.Known & kept(arch); set != 0; set = set.Without(set.First()) {
		if r := set.First(); rule.Of(r).Kind == Unspecified {
			out.Set(r, in.Val[r])
		}
	}
}

// kept are the registers that calls preserve, but for those that say where the frame is.
func kept(arch *cpu.Arch) cpu.RegSet {
	return arch.Preserved.Without(arch.SP).Without(arch.PC)
}

// keepUnwritten sets the registers that s has saved, at a place that was not captured, and has not written since.
func keepUnwritten(out *cpu.Registers, s *State, graph CallGraph) {
	arch := s.Snapshot.Arch
	if !s.reported() || s.Exact || graph == nil {
		return
	}
	w := graph
	for set := s.Regs.Known & kept(arch) &^ out.Known; set != 0; set = set.Without(set.First()) {
		r := set.First()
		if w.Passes(s.Module, s.PC, s.Mode, r) == (Operand{Kind: InRegister, Reg: r}) {
			out.Set(r, s.Regs.Val[r])
		}
	}
}

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
	p, values := passing{elimination: f}, f.arguments()
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
