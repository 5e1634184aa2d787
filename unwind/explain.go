package unwind

// explainer tells Options.Explain of questions and answers; a nil tell tells nobody.
type explainer struct{ tell func(Attempt) }

// verdict: a source had no answer for s.
func (e explainer) verdict(s *State, m Method, try int, v Verdict) {
	if e.tell == nil {
		return
	}
	e.tell(Attempt{Frame: s.Index, Method: m, Try: try, Verdict: v, Arch: s.Snapshot.Arch, Reason: v.String()})
}

// declined: a rule for s could not be applied.
func (e explainer) declined(s *State, m Method, try int, rule *Rule, why string) {
	if e.tell == nil {
		return
	}
	e.tell(Attempt{Frame: s.Index, Method: m, Try: try, Verdict: Found, Rule: rule, Arch: s.Snapshot.Arch, Reason: why})
}

// candidate: a caller of s was verified; why is empty when it was taken, rule is nil when
// no rule found it.
func (e explainer) candidate(s *State, c *candidate, rule *Rule, try int, why string) {
	if e.tell == nil {
		return
	}
	e.tell(Attempt{Frame: s.Index, Method: c.method, Try: try, Verdict: Found, Rule: rule, Arch: s.Snapshot.Arch,
		PC: c.pc, CFA: c.CFA, Applied: true, Checks: c.checks, Trust: min(c.trust, trustOf(c.method, c.checks)), Taken: why == "", Reason: why})
}
