package lint

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/stepping"
)

// Anchored is where SP stands in the parts of a function that lead to its returns, by SP's
// own arithmetic along direct jumps and straight lines: nothing is carried over calls,
// indirect jumps and what sets SP anew. At a return of x86 the return address is at SP, so
// that each place of such a part has a CFA that no table can change. Tables of hand-written
// assembly contradict that: glibc's memcpy for SSSE3 on i386 says CFA=esp+4 where %ebx lies
// on the stack and is popped before the return, its strchr CFA=esp behind a push.
type Anchored struct {
	steps map[uint64]step
	cfa   map[uint64]int64 // CFA − SP
}

// step is an instruction with what leads to it.
type step struct {
	moves   int64
	next    [2]uint64 // where control goes on; 0: nowhere that is known
	before  []uint64
	returns bool
}

// Anchor makes the heights of a function out of its instructions, which sweep goes through.
func Anchor(arch *cpu.Arch, sweep func(visit func(pc uint64, mode cpu.Mode, step stepping.Step))) Anchored {
	a := Anchored{map[uint64]step{}, map[uint64]int64{}}
	if !arch.CallPushesRA {
		return a
	}
	sweep(func(pc uint64, _ cpu.Mode, s stepping.Step) { a.steps[pc] = stepOf(arch, pc, s.In) })
	for pc, s := range a.steps {
		for _, to := range s.next {
			if t, ok := a.steps[to]; ok {
				t.before = append(t.before, pc)
				a.steps[to] = t
			}
		}
	}
	seen := map[uint64]bool{}
	for pc, s := range a.steps {
		if s.returns && !seen[pc] {
			a.part(pc, arch.EntryCFA, seen)
		}
	}
	return a
}

func stepOf(arch *cpu.Arch, pc uint64, in *cpu.Insn) (s step) {
	if in.Op == cpu.OpReturn {
		s.returns = true
		return s
	}
	d, ok := arch.Moved(in)
	ok = ok && in.Flags&cpu.FlagPadding == 0 // behind a call that never returns
	s.moves = d
	if ok && !in.Ends(arch.PC) {
		s.next[0] = pc + uint64(in.Len)
	}
	if ok && in.Op == cpu.OpJump && in.Target != 0 && in.Flags&(cpu.FlagMemory|cpu.FlagTable) == 0 {
		s.next[1] = in.Target
	}
	return s
}

// part goes through all that is connected with a return, where CFA − SP is known. Where two
// returns disagree, nothing of the part is known.
func (a *Anchored) part(from uint64, cfa int64, seen map[uint64]bool) {
	all, consistent := []uint64{from}, true
	a.cfa[from], seen[from] = cfa, true
	reach := func(pc uint64, v int64) {
		s, ok := a.steps[pc]
		if was, known := a.cfa[pc]; known && was != v || ok && s.returns && v != cfa {
			consistent = false
		}
		if ok && !seen[pc] {
			seen[pc], a.cfa[pc] = true, v
			all = append(all, pc)
		}
	}
	for i := 0; i < len(all); i++ {
		pc := all[i]
		s := a.steps[pc]
		for _, to := range s.next {
			reach(to, a.cfa[pc]-s.moves)
		}
		for _, b := range s.before {
			reach(b, a.cfa[pc]+a.steps[b].moves)
		}
	}
	for _, pc := range all {
		if !consistent {
			delete(a.cfa, pc)
		}
	}
}

// Denies tells whether the code contradicts a table's CFA at a place.
func (a *Anchored) Denies(arch *cpu.Arch, pc uint64, cfa *stackwalk.RegRule) bool {
	v, known := a.At(pc)
	return known && cfa.Kind == stackwalk.RegPlus && cfa.Base == arch.SP && cfa.Off != v
}

// At is CFA − SP at a place, where it is known.
func (a *Anchored) At(pc uint64) (int64, bool) {
	v, known := a.cfa[pc]
	return v, known
}
