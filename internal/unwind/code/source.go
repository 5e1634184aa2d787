// Package code finds unwind rules by reading the code itself, for programs that carry no
// symbols and no unwind tables. It asks the analyses in internal/code and orders their
// answers:
//
//	Query ─► answers kept ─► heights: one pass ─► search: entries × dataflow, ways out ─► rank
//	                                                                        └► the ABI's way
//
// Two directions lead to a rule: forward from the entry, what the function did so far, and
// forward from the PC to a return (a way out), what the function will do to undo that. Agreement
// of the two is evidence; where they differ, both are offered and the walker's checks decide.
package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/memo"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source is the code analysis as an unwind source.
type Source struct {
	tables *discover.Tables
}

// New returns the source. tables tell what unwind tables know of functions; nil: none are asked.
func New(tables *discover.Tables) *Source { return &Source{tables: tables} }

// Method implements stackwalk.RuleSource.
func (s *Source) Method() unwind.Method { return unwind.MethodCode }

// program is one image's code and the answers that were found.
type program struct {
	*analyses.Image
	answers  memo.Table[question, answer]
	searched memo.Table[question, result]
}

// keptAnswers bounds a generation of answers: in a batch of captures the same places come
// up again and again, and a search is much work.
const keptAnswers = 4096

// keptSearches bounds a generation of search results, of some 10 KB each.
const keptSearches = 64

type programKey struct{}

// of returns what is known of an image.
func (s *Source) of(img *image.Image) *program {
	return img.Memo(programKey{}, func() any { return newProgram(analyses.Of(img, s.tables)) }).(*program)
}

func newProgram(a *analyses.Image) *program {
	p := &program{Image: a}
	p.answers.Bound, p.searched.Bound = keptAnswers, keptSearches
	return p
}

// Rule implements stackwalk.RuleSource: the derivations for one place, the most believable
// first, one per Try.
func (s *Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Arch.Decoder == nil {
		return unwind.NotCovered
	}
	p := s.of(q.Image)
	k := questionOf(q)
	a, ok := p.answers.Find(k) // first, because Get's function is allocated
	if !ok {
		a = p.answers.Get(k, func() answer { return p.answer(q) })
	}
	q.Cost += uint64(a.cost)
	a.write(out)
	return a.verdict
}

// answer finds the answer to a query.
func (p *program) answer(q *stackwalk.Query) answer {
	if p.cleared(q.PC, q.Mode) {
		return answer{verdict: unwind.NotCovered}
	}
	var r stackwalk.Rule
	r.Reset()
	v, cost := p.rule(q, &r)
	a := answerOf(v, &r)
	a.cost = cost
	return a
}

// cleared tells whether the text around a place was taken out of its file. On MIPS, zero is a NOP, and pads.
func (p *program) cleared(pc uint64, mode cpu.Mode) bool {
	const behind = 32 // bytes that are zero as well
	text, ok := p.Img.Segments.At(pc)
	if !ok || !text.Blank(pc+behind) {
		return false
	}
	var zero [16]byte
	var in [1]cpu.Insn
	return p.Arch.Decoder.Decode(zero[:], pc, mode, in[:]) != 1 || in[0].Op != cpu.OpNop
}

// rule writes the rule for a query; cost is how many instructions were executed to find that rule.
// The rule of the stack-height analysis comes first, which is cheap. All other rules come from one
// search, which is charged to the first query that needs the search.
func (p *program) rule(q *stackwalk.Query, out *stackwalk.Rule) (v unwind.Verdict, cost int) {
	if q.HasEntry && q.Exact && inMillicode(p.Code, disasm.Addr{PC: q.PC, Mode: q.Mode}) {
		anywhere := *q // what begins at the entry runs as part of its callers
		anywhere.HasEntry = false
		q = &anywhere
	}
	if q.Exact && p.isStub(disasm.Addr{PC: q.PC, Mode: q.Mode}) {
		return p.stub(q, out), 0
	}
	proven := p.proven(q, out)
	if proven && q.Try == 0 {
		return unwind.Found, 0
	}
	r := p.derived(q)
	if q.Try == 0 || proven && q.Try == 1 {
		cost = r.steps
	}
	switch {
	case r.outermost:
		return unwind.EndOfStack, cost
	case r.otherStack:
		return unwind.NoCaller, cost
	}
	list := slices.Clone(r.rules)
	if proven {
		list = putFirst(list, out, p.Arch)
	}
	if q.Try < len(list) {
		*out = list[q.Try]
		return unwind.Found, cost
	}
	return p.fallback(q, list, out), cost
}

// derived is the result of the search for a query's place. The result is kept, because the walker
// asks for one rule at a time.
func (p *program) derived(q *stackwalk.Query) result {
	k := questionOf(q)
	k.try = 0
	return p.searched.Get(k, func() result { return p.search(q).result() })
}

// proven writes the rule of the stack-height analysis; false where that analysis has no rule, or callees move SP.
func (p *program) proven(q *stackwalk.Query, out *stackwalk.Rule) bool {
	if p.Img.Made {
		return false
	}
	var t *heights.Table
	var f *heights.SavedRegs
	if q.HasEntry {
		t, f = p.Heights.In(disasm.Addr{PC: q.Entry, Mode: q.Mode}, q.PC)
	} else {
		t, f = p.Heights.Proven(disasm.Addr{PC: q.PC, Mode: q.Mode})
	}
	return f != nil && rules.FromHeights(t, f, p.Arch, out)
}

// fallback writes the rule by the ABI document's method, the last one of a place, unless the list of
// derived rules has the same rule.
func (p *program) fallback(q *stackwalk.Query, list []stackwalk.Rule, out *stackwalk.Rule) unwind.Verdict {
	entryCode := len(list) > 0 && list[0].Flags&stackwalk.ExceptionFrame != 0
	if q.Try > len(list) || q.HasEntry || entryCode {
		return unwind.NotCovered
	}
	at, ok := rules.PointOf(p.Code, q)
	if !ok || !rules.ABI(p.Flows, at, out) || contains(list, out, p.Arch) {
		return unwind.NotCovered
	}
	return unwind.Found
}

// putFirst makes r the first answer.
func putFirst(list []stackwalk.Rule, r *stackwalk.Rule, arch *cpu.Arch) []stackwalk.Rule {
	same := func(o stackwalk.Rule) bool { return o.Equal(r, arch.Preserved) }
	return slices.Insert(slices.DeleteFunc(list, same), 0, *r)
}

func contains(list []stackwalk.Rule, r *stackwalk.Rule, arch *cpu.Arch) bool {
	return slices.ContainsFunc(list, func(o stackwalk.Rule) bool { return o.Equal(r, arch.Preserved) })
}

// question is a Query without its image.
type question struct {
	pc, entry       uint64 // pc is where the frame resumes
	mode            cpu.Mode
	exact, hasEntry bool
	brief           bool
	try             int
}

func questionOf(q *stackwalk.Query) question {
	k := question{pc: q.Resume, mode: q.Mode, exact: q.Exact, hasEntry: q.HasEntry, brief: q.Brief, try: q.Try}
	if q.Exact {
		k.pc = q.PC
	}
	if q.HasEntry {
		k.entry = q.Entry
	}
	return k
}

// answer is a verdict with a rule of no more than the size that it needs.
type answer struct {
	verdict unwind.Verdict
	flags   stackwalk.RuleFlags
	cost    int // instructions executed
	cfa, ra stackwalk.RegRule
	regs    []stackwalk.RegRule
}

func answerOf(v unwind.Verdict, r *stackwalk.Rule) answer {
	if v != unwind.Found {
		return answer{verdict: v}
	}
	return answer{verdict: v, flags: r.Flags, cfa: r.CFA, ra: r.RA, regs: slices.Clone(r.Regs[:r.N])}
}

func (a *answer) write(out *stackwalk.Rule) {
	if a.verdict == unwind.Found {
		out.CFA, out.RA, out.Flags, out.N = a.cfa, a.ra, a.flags, copy(out.Regs[:], a.regs)
	}
}
