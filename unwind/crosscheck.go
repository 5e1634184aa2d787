package unwind

import (
	"slices"

	"github.com/backsight/backsight/cpu"
)

// crossCheck compares what call frame information says of an exact frame with what
// the code says. Tables are made for call sites first: clang before 15 writes none
// of AArch64's prologues and epilogues into them, so that in
//
//	4007a0  str  x29,[sp,#-32]!
//	4007a4  stp  x30,x28,[sp,#16]
//	4007a8  mov  x29,sp            ◄─ PC; the table already says CFA = x29 + 32
//
// the return address is right, in its register, but the CFA is one frame off, and
// with it everything above. Where the two differ, the frame by code is taken if more speaks for
// the code (outvotes), or if only that frame leads on. Example: glibc's table for RISC-V has one
// row for all of _dl_runtime_resolve, which lowers SP by 144. The table's frame is kept if only the
// table's frame leads on, whatever the code says. Example: code analysis that missed where a
// function set rbp up ended walks through libgcc's unwinder. Otherwise the table's frame is kept,
// and is not certain.
func (f *finder) crossCheck(r *search) {
	table := &r.best
	if !r.frame.Exact || !table.valid || table.end || table.method != MethodCFI || table.trust < Likely {
		return
	}
	src := ruleSource(f.sources, MethodCode)
	if src == nil || f.verifier.isAhead {
		return
	}
	if f.account.starved {
		table.limit(Likely, CapUnchecked)
		return
	}
	before := f.query.Cost
	defer func() { f.account.cost += f.query.Cost - before }()
	// From the entry that the table states: to look for others takes a pass through
	// the image.
	f.query.Try, f.query.Entry, f.query.HasEntry = 0, table.start, table.flags&StartStated != 0
	if entry, ok := f.verifier.starts.linked(r.frame, table); ok {
		f.query.Entry = entry
	}
	if f.codeRule == nil {
		f.codeRule = new(Rule)
	}
	rule := f.codeRule
	rule.Reset()
	if src.Rule(&f.query, rule) != Found || rule.Flags&(FromEntry|Straight) == 0 {
		if returnsByLink(r.frame, table) || f.query.HasEntry && f.verifier.graph != nil && f.verifier.graph.Abandons(&f.query) {
			r.dispute()
		}
		return
	}
	second := search{frame: r.frame, stop: r.stop}
	f.tryRule(MethodCode, rule, &second)
	code := &second.best
	if code.valid && code.pc == table.pc && code.CFA == table.CFA {
		table.checks |= MethodsAgree
		return
	}
	outvoted := code.valid && f.outvotes(r.frame, code, rule.Flags, table) && !f.leadsOn(r.frame, table, code)
	if outvoted || f.leadsOn(r.frame, code, table) {
		r.best, r.stop = *code, second.stop
	}
	r.dispute() // the code or the table is wrong
}

// dispute says of the best candidate that something contradicts its rule, and that the rule is not to
// be kept.
func (r *search) dispute() {
	r.best.limit(Likely, CapContradicted)
	r.best.checks |= Disputed
	r.answers++
}

// outvotes tells whether the code's frame is to be believed rather than the table's: the derivations
// from the known entry and from the ways out agree; or only a few instructions in a line lie
// between the entry and the PC; or only the call before the code's frame is known to go to the
// function. flags are the flags of the code's rule.
func (f *finder) outvotes(s *State, code *candidate, flags RuleFlags, table *candidate) bool {
	return flags&Agreed != 0 || flags&Straight != 0 && f.verifier.starts.plain(s, table) ||
		code.pc != table.pc && code.checks.Proven() && !table.checks.Proven()
}

// startRules asks for the rule of a function's first instruction, where a table states
// which that is.
type startRules struct {
	sources []Source
	scratch *ruleScratch
}

// ruleScratch is space for a question and its answer, and for another answer to compare.
type ruleScratch struct {
	query     Query
	rule, own Rule
	at        State // a frame behind another function's call
}

// space is the scratch space, made when it is first needed.
func (a *startRules) space() *ruleScratch {
	if a.scratch == nil {
		a.scratch = new(ruleScratch)
	}
	return a.scratch
}

// of is the rule that the source which found c has for the start of the function that s
// runs in; nil where the source states none.
func (a *startRules) of(s *State, c *candidate) *Rule {
	if c.flags&StartStated == 0 {
		return nil
	}
	src := ruleSource(a.sources, c.method)
	q, ok := queryOf(s)
	if src == nil || !ok {
		return nil
	}
	q.PC, q.Resume, q.Exact = c.start, c.start, true
	scratch := a.space()
	scratch.query = q
	scratch.rule.Reset()
	if src.Rule(&scratch.query, &scratch.rule) != Found || scratch.rule.Flags&Fallback != 0 {
		return nil // none, or one that holds where the function calls others (compact unwind)
	}
	return &scratch.rule
}

// at tells whether a function begins at c's return address, as the table has it that lists
// the place; known is false where none does.
func (a *startRules) at(c *candidate) (begins, known bool) {
	m := c.module
	if m == nil || m.Image == nil {
		return false, false
	}
	pc := m.ToImage(c.pc) & m.Image.Arch.AddrMask()
	q, r := &a.space().query, &a.scratch.rule
	for _, s := range a.sources {
		src, ok := s.(RuleSource)
		if !ok || s.Method().basis() != inTable {
			continue
		}
		*q = Query{Image: m.Image, Arch: m.Image.Arch, PC: pc, Resume: pc, Mode: c.mode, Exact: true}
		r.Reset()
		if src.Rule(q, r) == Found && r.Flags&StartStated != 0 {
			return r.Start == pc, true
		}
	}
	return false, false
}

// begunBy tells whether c's return address is where a thread was begun as if from there: right behind
// the first instruction of a function that a table knows to be the outermost of its stack. No call
// stands there. Go's newproc stores the address of goexit's second instruction.
func (a *startRules) begunBy(c *candidate) bool {
	const instruction = 4 // bytes, at most: a NOP
	img := c.module.Image
	at := c.module.ToImage(c.pc) & img.Arch.AddrMask()
	if f, ok := img.Symbols.At(at - 1); !ok || at-f.Addr > instruction {
		return false
	}
	q, r := &a.space().query, &a.scratch.rule
	return slices.ContainsFunc(a.sources, func(s Source) bool {
		src, ok := s.(RuleSource)
		if !ok || s.Method().basis() != inTable {
			return false
		}
		*q = Query{Image: img, Arch: img.Arch, PC: at - 1, Resume: at, Mode: c.mode}
		r.Reset()
		return src.Rule(q, r) == EndOfStack
	})
}

// splitOff tells whether s runs in a part of a function that stands elsewhere: what the
// table says of the part's first instruction is not what holds where a call goes.
// Landing pads in GCC's f.cold are reached by the runtime alone.
func (a *startRules) splitOff(s *State, c *candidate) bool {
	r := a.of(s, c)
	return r != nil && !entryCFA(s.Snapshot.Arch, r)
}

// plain tells whether the table's function begins as the ABI has it: where a call leads
// to. A part that was split off begins with a frame, millicode with the return address in
// another register.
func (a *startRules) plain(s *State, c *candidate) bool {
	r, arch := a.of(s, c), s.Snapshot.Arch
	if r == nil || !entryCFA(arch, r) {
		return false
	}
	if arch.CallPushesRA {
		return r.RA.Kind == AtCFA && r.RA.Off == -arch.EntryCFA
	}
	return r.RA.Kind == RegPlus && r.RA.Base == arch.LR && r.RA.Off == 0 || r.RA.Kind == SameValue && r.RA.Reg == arch.LR
}

// entryCFA tells whether a rule puts the CFA where the ABI has it on entry.
func entryCFA(arch *cpu.Arch, r *Rule) bool {
	return r.CFA.Kind == RegPlus && r.CFA.Base == arch.SP && r.CFA.Off == arch.EntryCFA
}
