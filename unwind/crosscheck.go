package unwind

import "github.com/backsight/backsight/cpu"

// crossCheck compares what call frame information says of an exact frame with what
// the code says. Tables are made for call sites first: clang before 15 writes none
// of AArch64's prologues and epilogues into them, so that in
//
//	4007a0  str  x29,[sp,#-32]!
//	4007a4  stp  x30,x28,[sp,#16]
//	4007a8  mov  x29,sp            ◄─ PC; the table already says CFA = x29 + 32
//
// the return address is right, in its register, but the CFA is one frame off, and
// with it everything above. Where the two differ and the code is not outvoted, its
// frame is taken; else it only takes the table's certainty away.
func (w *Walker) crossCheck() {
	b := &w.best
	if !w.state.Exact || !b.valid || b.end || b.method != MethodCFI || b.trust < Likely {
		return
	}
	code := w.ruleSource(MethodCode)
	if code == nil || w.isAhead {
		return
	}
	w.table = w.rule
	w.query.Try = 0
	// From the entry that the table states: to look for others takes a pass through
	// the image.
	w.query.Entry, w.query.HasEntry = w.rule.Start, w.rule.Flags&StartStated != 0
	w.rule.Reset()
	if code.Rule(&w.query, &w.rule) != Found || w.rule.Flags&(FromEntry|Straight) == 0 {
		w.rule = w.table
		return
	}
	cfi, flags := w.best, w.rule.Flags
	w.best.evidence = evidence{}
	if w.applyRule(MethodCode); w.best.valid && w.best.pc == cfi.pc && w.best.CFA == cfi.CFA {
		w.best, w.rule = cfi, w.table
		w.best.checks |= MethodsAgree
		return
	}
	if !w.best.valid || !w.outvotes(flags, &cfi) {
		w.best, w.rule = cfi, w.table
	}
	w.best.trust = min(w.best.trust, Likely) // one of the two is wrong
	w.answers++
}

// outvotes tells whether the code's frame, w.best, is rather to be believed than the
// table's: the derivations from the known entry and from the exits agree, or nothing
// but a few instructions in a line lie between the entry and the place, or its call
// alone is known to go to the function.
func (w *Walker) outvotes(code RuleFlags, cfi *candidate) bool {
	return code&Agreed != 0 || code&Straight != 0 && w.startsPlain() ||
		w.best.pc != cfi.pc && w.best.checks.proven() && !cfi.checks.proven()
}

// startsPlain tells whether the table's function begins as the ABI has it: where a
// call leads to. A part that was split off begins with a frame, millicode with the
// return address in another register.
func (w *Walker) startsPlain() bool {
	tables, arch := w.ruleSource(MethodCFI), w.snap.Arch
	q := Query{Image: w.query.Image, Arch: w.query.Arch, PC: w.table.Start, Resume: w.table.Start, Mode: w.state.Mode, Exact: true}
	var r Rule
	r.Reset()
	if tables == nil || w.table.Flags&StartStated == 0 || tables.Rule(&q, &r) != Found ||
		r.CFA.Kind != RegPlus || r.CFA.Base != arch.SP || r.CFA.Off != arch.EntryCFA {
		return false
	}
	if arch.LR == cpu.NoReg {
		return r.RA.Kind == AtCFA && r.RA.Off == -arch.EntryCFA
	}
	return r.RA.Kind == RegPlus && r.RA.Base == arch.LR && r.RA.Off == 0 || r.RA.Kind == SameValue && r.RA.Reg == arch.LR
}

// ruleSource is the first source of a method, nil if it is left out.
func (w *Walker) ruleSource(m Method) RuleSource {
	for _, s := range w.opt.Sources {
		if r, ok := s.(RuleSource); ok && s.Method() == m {
			return r
		}
	}
	return nil
}
