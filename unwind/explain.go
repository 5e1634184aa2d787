package unwind

// report tells Explain that a source had no answer.
func (w *Walker) report(m Method, v Verdict) {
	if w.opt.Explain == nil {
		return
	}
	w.opt.Explain(Attempt{Frame: w.state.Index, Method: m, Try: w.query.Try, Verdict: v, Arch: w.snap.Arch, Reason: v.String()})
}

// decline tells Explain that a rule could not be applied.
func (w *Walker) decline(m Method, why string) {
	if w.opt.Explain == nil {
		return
	}
	w.opt.Explain(Attempt{Frame: w.state.Index, Method: m, Try: w.query.Try, Verdict: Found, Rule: &w.rule, Arch: w.snap.Arch, Reason: why})
}

// reportTry tells Explain how w.try was judged; why is empty when it was taken.
func (w *Walker) reportTry(why string) {
	if w.opt.Explain == nil {
		return
	}
	c := &w.try
	a := Attempt{Frame: w.state.Index, Method: c.method, Try: w.query.Try, Verdict: Found, Arch: w.snap.Arch,
		PC: c.pc, CFA: c.CFA, Applied: true, Checks: c.checks, Trust: min(c.trust, trustOf(c.method, c.checks)), Taken: why == "", Reason: why}
	switch c.method {
	case MethodCFI, MethodEHABI, MethodCode, MethodFP:
		a.Rule = &w.rule
	}
	w.opt.Explain(a)
}
