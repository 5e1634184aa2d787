package code

import (
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// kept keeps what was found out: in a batch of captures the same places come up
// again and again, and a derivation is much work. Walkers read it together.
//
// The older half goes when it is full.
type kept[K comparable, V any] struct {
	mu         sync.RWMutex
	new, older map[K]V
}

// maxKept bounds each half.
const maxKept = 4096

func (a *kept[K, V]) find(k K) (v V, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if v, ok = a.new[k]; !ok {
		v, ok = a.older[k]
	}
	return v, ok
}

func (a *kept[K, V]) keep(k K, v V) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.new) >= maxKept {
		a.older, a.new = a.new, nil
	}
	if a.new == nil {
		a.new = make(map[K]V)
	}
	a.new[k] = v
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
