package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/unwind"
)

// finder asks the sources for the caller of a frame. Questions and answers lie in fields,
// because variables whose address an interface's method is given would be allocated.
type finder struct {
	lists    *sourceLists
	verifier verifier
	explain  explainer
	packs    bool       // the first rule is packed, for a cache
	ahead    *lookahead // of callerProven; made when first needed

	unchecked bool // Options.Unchecked
	account   account
	payments  payments
	query     Query
	rule      Rule   // the answer of a RuleSource
	step      Caller // the answer of a FrameSource
	codeRule  *Rule  // the code's answer in crossCheck; made when first needed
	lost      candidate
	entered   []candidate // see above
	insns     [2]cpu.Insn // for decoders, which are called through an interface
}

// search is the search for the caller of one frame: the best candidate so far, and
// what the answers were like.
type search struct {
	frame *State
	best  candidate
	// stop is why the walk ends here, if there is no candidate, or if the best candidate
	// is the end of the stack.
	stop     unwind.Stop
	answers  int         // how many answers the sources gave
	lastRule bool        // the last answer was a rule
	first    packed.Rule // the first answer, if packed
	packed   bool        // the first answer has a packed form
	noCaller bool        // a source knows that the frame has no caller
	beyond   bool        // a sound rule's return address was not captured; no captured word can be that address
	starved  bool        // code analysis is left out, for the walk has cost enough
	cost     uint64      // of the answers that code analysis gave: kept for the next frame at this place
	searched uint64      // what the search of the stack cost, which is done for each frame anew
	lost     bool        // a sound rule led to a caller, finder.lost, but not to its PC
	hooked   bool        // a tracer's address stands where that PC should
	misses
}

// misses are the ways in which rules have led to no caller.
type misses struct {
	refuted bool // a rule, neither a fallback nor a convention, led to none
	damaged bool // a rule that two derivations from the function's entry agree on led to none
	// contested: a sound rule led to another caller than the shadow stack has, and nothing else speaks against that one.
	contested bool
	untried   bool // a rule, neither a fallback nor a convention, needs a register that is unknown
}

// answered counts an answer, if v is one. rule: a RuleSource gave it.
func (r *search) answered(v unwind.Verdict, rule bool) {
	if v == unwind.Found || v == unwind.EndOfStack {
		r.answers++
		r.lastRule = rule
	}
}

// offer makes c the best candidate if c beats the best candidate so far.
func (r *search) offer(c *candidate) bool {
	if !c.beats(&r.best) {
		return false
	}
	r.best = *c
	return true
}

// end makes the end of the stack the best candidate: a source of method m knows that the
// frame is the outermost one.
func (r *search) end(m unwind.Method) {
	r.best, r.stop = endOfStack(m), unwind.Stop{Reason: unwind.StopRoot}
}

// endOfStack is the candidate that says that there is no caller.
func endOfStack(m unwind.Method) candidate {
	c := candidate{evidence: evidence{method: m, valid: true}}
	c.ends(unwind.Certain)
	return c
}

// dispute says of the best candidate that something contradicts its rule, and that the rule is not to
// be kept.
func (r *search) dispute() {
	r.best.limit(unwind.Likely, unwind.CapContradicted)
	r.best.checks |= unwind.Disputed
	r.answers++
}

// maxTries bounds the answers taken from one source for one frame.
const maxTries = 8

// lose keeps what the surest of the sources knows of a caller whose PC is not known.
func (f *finder) lose(c *candidate, r *search, hooked bool) {
	if r.frame.reported() && !r.lost {
		f.lost, r.lost, r.hooked = *c, true, hooked
	}
}

// explainer tells Options.Explain of questions and answers; a nil tell tells nobody.
type explainer struct{ tell func(unwind.Attempt) }

// verdict: a source had no answer for s.
func (e explainer) verdict(s *State, m unwind.Method, try int, v unwind.Verdict) {
	if e.tell == nil {
		return
	}
	e.tell(unwind.Attempt{Frame: s.Index, Method: m, Try: try, Verdict: v, Arch: s.Snapshot.Arch, Reason: v.String()})
}

// declined: a rule for s could not be applied.
func (e explainer) declined(s *State, m unwind.Method, try int, rule *Rule, why string) {
	if e.tell == nil {
		return
	}
	e.tell(unwind.Attempt{Frame: s.Index, Method: m, Try: try, Verdict: unwind.Found, Rule: rule, Arch: s.Snapshot.Arch, Reason: why})
}

// candidate: a caller of s was verified; why is empty when it was taken, rule is nil when
// no rule found it.
func (e explainer) candidate(s *State, c *candidate, rule *Rule, try int, why string) {
	if e.tell == nil {
		return
	}
	e.tell(unwind.Attempt{Frame: s.Index, Method: c.method, Try: try, Verdict: unwind.Found, Rule: rule, Arch: s.Snapshot.Arch,
		PC: c.pc, CFA: c.CFA, Applied: true, Checks: c.checks, Trust: min(c.trust, trustOf(c.method, c.checks)), Taken: why == "", Reason: why})
}

// pay counts what finding the caller of the frame at a place has cost: answers that are kept, for a place that was not paid for
// before, and what is done for each frame anew.
func (f *finder) pay(at place, kept, anew uint64) {
	switch {
	case kept+anew == 0:
	case f.payments.first(at):
		f.account.pay(at, kept+anew)
	default:
		f.account.cost += anew
	}
}

// lookahead looks for the caller of a candidate, in a frame of its own.
type lookahead struct {
	finder finder
	frame  State
	regs   cpu.Registers
}
