package discover

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/internal/code/disasm"
)

// candidates are places where functions may begin.
type candidates struct {
	entries  keys
	taken    keys   // places that data or code holds a pointer to
	farJumps []jump // over a certain entry, by target
}

// findCandidates makes the list of candidates by recursive descent from the certain
// entries and from what data points to.
func findCandidates(code disasm.Code, known *certain) *candidates {
	s := newSweep(code, &known.gp, known.entries)
	s.fromPointers(known.entries)
	taken := keys(s.pointers.Keys())
	named := sorted(slices.Concat(taken, known.single, s.calls.Keys()))
	tails := tailTargets(code, s.jumps, known.entries, named)
	return &candidates{
		entries:  sorted(slices.Concat(named, tails)),
		taken:    slices.Clip(taken),
		farJumps: s.farJumps(),
	}
}

// tailTargets are keys of the targets of jumps that leave the function they stand in, as far
// as known entries bound it: functions that are only ever tail-called, and parts of
// functions moved elsewhere (.text.unlikely). An analysis that starts in such a part finds
// its stack unbalanced.
func tailTargets(code disasm.Code, jumps []jump, certain, named keys) (tails []uint64) {
	for _, j := range jumps {
		to := code.Addr(j.to).PC
		lo, hi := min(j.from, to), max(j.from, to)
		above := named.from(disasm.Addr{PC: lo + 1, Mode: 1}.Key())
		if certain.next(code, lo, to) <= hi || len(above) > 0 && above[0] <= hi {
			tails = append(tails, j.to)
		}
	}
	return tails
}

// farJumps are the jumps over a certain entry, sorted by target.
func (s *sweep) farJumps() []jump {
	far := slices.DeleteFunc(s.jumps, func(j jump) bool { return !s.far(j.from, s.Addr(j.to).PC) })
	slices.SortFunc(far, func(a, b jump) int { return cmp.Compare(s.Addr(a.to).PC, s.Addr(b.to).PC) })
	return slices.Clip(far)
}
