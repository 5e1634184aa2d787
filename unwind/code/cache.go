package code

import (
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// answerCache keeps what was answered: in a batch of captures the same places come up
// again and again, and a derivation is much work. Walkers read it together.
//
// The older half goes when it is full.
type answerCache struct {
	mu         sync.RWMutex
	new, older map[question]keptAnswer
}

// question is a Query without its image.
type question struct {
	pc, entry       uint64 // pc is where the frame resumes
	mode            cpu.Mode
	exact, hasEntry bool
	try             int
}

// keptAnswer is a verdict with a rule of no more than the size that it needs.
type keptAnswer struct {
	verdict unwind.Verdict
	flags   unwind.RuleFlags
	cfa, ra unwind.RegRule
	regs    []unwind.RegRule
}

func keepAnswer(v unwind.Verdict, r *unwind.Rule) keptAnswer {
	if v != unwind.Found {
		return keptAnswer{verdict: v}
	}
	return keptAnswer{verdict: v, flags: r.Flags, cfa: r.CFA, ra: r.RA, regs: slices.Clone(r.Regs[:r.N])}
}

func (a *keptAnswer) write(out *unwind.Rule) {
	if a.verdict == unwind.Found {
		out.CFA, out.RA, out.Flags, out.N = a.cfa, a.ra, a.flags, copy(out.Regs[:], a.regs)
	}
}

// maxAnswers bounds each half.
const maxAnswers = 4096

func ask(q *unwind.Query) question {
	k := question{pc: q.Resume, mode: q.Mode, exact: q.Exact, hasEntry: q.HasEntry, try: q.Try}
	if q.Exact {
		k.pc = q.PC
	}
	if q.HasEntry {
		k.entry = q.Entry
	}
	return k
}

// find repeats an answer.
func (a *answerCache) find(q *unwind.Query, out *unwind.Rule) (unwind.Verdict, bool) {
	k := ask(q)
	a.mu.RLock()
	defer a.mu.RUnlock()
	r, ok := a.new[k]
	if !ok {
		r, ok = a.older[k]
	}
	if ok {
		r.write(out)
	}
	return r.verdict, ok
}

func (a *answerCache) keep(q *unwind.Query, v unwind.Verdict, rule *unwind.Rule) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.new) >= maxAnswers {
		a.older, a.new = a.new, nil
	}
	if a.new == nil {
		a.new = make(map[question]keptAnswer)
	}
	a.new[ask(q)] = keepAnswer(v, rule)
}
