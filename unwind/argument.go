package unwind

import (
	"github.com/backsight/backsight/cpu"
)

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
	maxPassedCalls = 64 // calls that are looked at for one frame
)

// passing compares values with what calls pass.
type passing struct {
	graph CallGraph
	arch  *cpu.Arch
	calls int
}

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

// agrees tells whether the call before c, a candidate for the caller, passed the values: No where some
// value is another, or a preserved register cannot hold what it holds; Yes where numbers in code are the
// values. passed are those that the caller was passed itself.
func (p *passing) agrees(c *candidate, values []passedValue) (a Answer, passed []passedValue) {
	if c.module == nil || p.heldWrong(c) {
		return No, nil
	}
	return p.call(c.raw, c, values, 0)
}

// call is agrees for the call that returns to ra in c's module.
func (p *passing) call(ra uint64, c *candidate, values []passedValue, depth int) (a Answer, passed []passedValue) {
	pc, mode := p.arch.SplitCode(ra)
	for _, v := range values {
		switch o := p.graph.Passes(c.module, pc, mode, v.reg); o.Kind {
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
	returns, all := p.graph.Callers(c.module, pc-1, mode)
	if !all || len(returns) == 0 {
		return a, passed
	}
	outer := No
	for _, r := range returns {
		if p.calls++; p.calls > maxPassedCalls {
			return a, passed
		}
		switch of, _ := p.call(r, c, passed, depth+1); {
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

// heldWrong tells whether a register that calls preserve holds no address of c's own frame, where code has put one.
func (p *passing) heldWrong(c *candidate) bool {
	arch := p.arch
	for set := preserved(arch); set != 0; set = set.Without(set.First()) {
		r := set.First()
		v, ok := c.Regs.Lookup(r)
		if !ok {
			continue
		}
		o := p.graph.Passes(c.module, c.pc, c.mode, r)
		if o.Kind == InRegister && o.Reg == arch.SP && (v-c.CFA)&arch.AddrMask() > maxFrameSize {
			return true
		}
	}
	return false
}

// isPointer tells whether a value may be an address.
func isPointer(v uint64) bool { return v > 1<<16 && -v > 1<<16 }
