package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

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
	if r.best.valid && r.best.trust > unwind.Guess || f.verifier.graph == nil || f.verifier.isAhead || s.Module == nil {
		return
	}
	if r.hooked {
		r.best, r.stop, r.refuted = candidate{}, unwind.Stop{Reason: unwind.StopNoRule, Addr: f.lost.raw & s.Snapshot.Arch.AddrMask()}, true // a tracer's code is no caller
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
	c.checks |= unwind.OnlyCaller | unwind.Disputed
	if r.hooked {
		c.checks |= unwind.ReturnHooked
	}
	c.judge()
	if fit.n > 0 && open.n > 0 {
		c.limit(unwind.Guess, unwind.CapSeveralFit)
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
	case r.hooked, r.best.valid && r.best.trust > unwind.Guess && (!r.best.end || r.stop.Reason == unwind.StopRoot):
		return Yes
	case r.beyond, r.untried, r.starved:
		return Unknown
	}
	return No
}

// The values that a call passed tell the caller from others that would do as well. A function may hold an argument
// where it was captured, and code says what each call passes: a number, or what the caller was itself passed plus a
// number, so that its own callers decide.
//
//	mid_b       holds in s0 what it was passed: 2
//	mid_a       passes a0+1      crashy_write passes mid_a 1      fits
//	                             hrt_fn passes 100                does not
//	big_frame   passes 1                                          does not
//	vla_frame   has its frame pointer in s8, which holds no address of the stack
const (
	maxPassed      = 8  // values
	maxPassedDepth = 4  // functions, from the callee outwards
	maxPassedCalls = 64 // calls that are looked at for what one frame was passed
)

// maxEdges bounds the calls that are looked at in a walk, by all who look for a lost caller. With that spent, nothing is
// told of the caller.
const maxEdges = 1 << 16

// lostCallers judges the calls that may have led to a frame whose caller, lost, is known but for the PC.
type lostCallers struct {
	*finder
	frame  *State
	lost   candidate
	values []passedValue // that the frame is known to have been passed
	depth  int           // how far inwards the callers of callers lie that are not asked
	calls  int           // that were looked at for the values
}

// callersOf are the callers of s. near: what the callers were passed themselves is not asked of theirs.
func (f *finder) callersOf(s *State, lost *candidate, near bool) lostCallers {
	c := lostCallers{finder: f, frame: s, lost: *lost, values: argumentsOf(s, lost.CFA, f.verifier.graph)}
	if near {
		c.depth = maxPassedDepth
	}
	return c
}

// returningTo is the caller that a call returns to at ra: No where what was captured contradicts that, or the budget is
// spent; Yes where numbers in code are the values.
func (p *lostCallers) returningTo(ra uint64) (c candidate, fits Answer) {
	c = p.lost
	if c.raw = ra; p.frame.Snapshot.Arch.ISABit {
		c.raw |= uint64(p.frame.Mode)
	}
	v := p.verifier
	v.isAhead = true // whether another address would do as well is of no use here
	v.gather(p.frame, &c)
	if p.account.edges++; p.noEdgesLeft() || v.against(p.frame, &c) != "" || c.module == nil || !p.mayHold(&c) {
		return c, No
	}
	fits, c.arguments = p.passesAll(&c, c.raw, p.values, p.depth)
	return c, fits
}

// noEdgesLeft tells whether as many calls were looked at as may be.
func (f *finder) noEdgesLeft() bool { return f.account.edges > maxEdges }

// argumentsOf are what s, whose CFA is given, is known to have been passed: what further in told, and what the function
// still holds.
func argumentsOf(s *State, cfa uint64, graph CallGraph) []passedValue {
	list := s.arguments
	for _, a := range graph.Arguments(s.Module, s.Site, s.Mode, s.Exact) {
		if v, ok := a.At.value(s.Snapshot, s.Regs, cfa); ok && len(list) < maxPassed {
			list = append(list[:len(list):len(list)], passedValue{a.Reg, v})
		}
	}
	return list
}

// passesAll tells whether the call that returns to ra in c's module passed the values. passed are those that the caller was
// passed itself.
func (p *lostCallers) passesAll(c *candidate, ra uint64, values []passedValue, depth int) (a Answer, passed []passedValue) {
	graph := p.verifier.graph
	pc, mode := p.frame.Snapshot.Arch.SplitCode(ra)
	for _, v := range values {
		switch o := graph.Passes(c.module, pc, mode, v.reg); o.Kind {
		case Number:
			switch {
			case uint32(o.Off) == uint32(v.value), uint32(uint64(o.Off)+c.module.Bias) == uint32(v.value):
				a = Yes
			case !isPointer(v.value): // which address another module's symbol has, code does not tell
				return No, nil
			}
		case InRegister:
			passed = append(passed, passedValue{o.Reg, v.value - uint64(o.Off)})
		}
	}
	if len(passed) == 0 || depth >= maxPassedDepth {
		return a, passed
	}
	calls := graph.Callers(nil, c.module, pc-1, mode)
	if !calls.All || len(calls.Returns) == 0 {
		return a, passed
	}
	outer := No
	for _, r := range calls.Returns {
		p.calls, p.account.edges = p.calls+1, p.account.edges+1
		if p.calls > maxPassedCalls || p.noEdgesLeft() {
			return a, passed
		}
		switch of, _ := p.passesAll(c, r, passed, depth+1); {
		case of == Yes:
			outer = Yes
		case of == Unknown && outer == No:
			outer = Unknown
		}
	}
	if outer == No || outer == Yes {
		a = outer
	}
	return a, passed
}

// mayHold tells whether the registers that calls preserve may be what c's code put there: a number, or an address of c's
// own frame. How far the kernel was moved may not be known.
func (p *lostCallers) mayHold(c *candidate) bool {
	arch := p.frame.Snapshot.Arch
	for set := c.Regs.Known & preserved(arch); set != 0; set = set.Without(set.First()) {
		r := set.First()
		v, o := c.Regs.Val[r], p.verifier.graph.Passes(c.module, c.pc, c.mode, r)
		switch number := uint64(o.Off) & arch.AddrMask(); {
		case o.Kind == InRegister && o.Reg == arch.SP && (v-c.CFA)&arch.AddrMask() > maxFrameSize:
			return false
		case o.Kind == Number && v != number && ((v-number)%movedBy != 0 || !oneHalf(arch, v, c.CFA) || !oneHalf(arch, number, c.CFA)):
			return false
		}
	}
	return true
}

// movedBy is what the distance by which kernels are moved is a multiple of.
const movedBy = 1 << 12

// oneHalf tells whether two addresses are of one half of all, as those of the kernel and of its stacks are.
func oneHalf(arch *cpu.Arch, a, b uint64) bool {
	return (a^b)&^(arch.AddrMask()>>1)&arch.AddrMask() == 0
}

// isPointer tells whether a value may be an address.
func isPointer(v uint64) bool { return v > 1<<16 && -v > 1<<16 }
