package unwind

// crossCheck compares what call frame information says of an exact frame with what
// the code says. Tables are made for call sites first: clang before 15 writes none
// of AArch64's prologues and epilogues into them, so that in
//
//	4007a0  str  x29,[sp,#-32]!
//	4007a4  stp  x30,x28,[sp,#16]
//	4007a8  mov  x29,sp            ◄─ PC; the table already says CFA = x29 + 32
//
// the return address is right, in its register, but the CFA is one frame off, and
// with it everything above. Where two derivations from the code, that from the
// known entry and that from the exits, agree on another frame, theirs is taken; one
// alone only takes the table's certainty away.
func (w *Walker) crossCheck() {
	b := &w.best
	if !w.state.Exact || !b.valid || b.end || b.method != MethodCFI || b.trust != Certain {
		return
	}
	code := w.codeSource()
	if code == nil || w.isAhead {
		return
	}
	w.table = w.rule
	w.query.Try = 0
	// From the entry that the table states: to look for others takes a pass through
	// the image.
	w.query.Entry, w.query.HasEntry = w.rule.Start, w.rule.Flags&StartStated != 0
	w.rule.Reset()
	if code.Rule(&w.query, &w.rule) != Found || w.rule.Flags&EntryKnown == 0 {
		w.rule = w.table
		return
	}
	cfi, proven := w.best, w.rule.Flags&Agreed != 0
	w.best.evidence = evidence{}
	if w.applyRule(MethodCode); !w.best.valid || w.best.pc == cfi.pc && w.best.CFA == cfi.CFA {
		w.best, w.rule = cfi, w.table
		w.best.checks |= MethodsAgree
		return
	}
	if !proven {
		w.best, w.rule = cfi, w.table
	}
	w.best.trust = min(w.best.trust, Likely) // one of the two is wrong
	w.answers++
}

// codeSource is the code analysis among the sources, nil if it is left out.
func (w *Walker) codeSource() RuleSource {
	for _, s := range w.opt.Sources {
		if r, ok := s.(RuleSource); ok && s.Method() == MethodCode {
			return r
		}
	}
	return nil
}
