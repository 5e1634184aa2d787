package edges

import (
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxOwners bounds how many candidate entries are tried for the function of one place.
const maxOwners = 4

// owner is the function that a place belongs to: of the nearest certain entry, or one that
// only pointers lead to. nil if there is none.
func owner(p *program, at disasm.Addr) *dataflow.Function {
	if below := p.Entries.Below(at); len(below) > 0 {
		if f := p.Flows.Function(disasm.Addr{PC: below[0], Mode: at.Mode}); f.Contains(at.PC) {
			return f
		}
	}
	return pointedOwner(p, at)
}

// pointedOwner is the function from the nearest candidate for an entry that has a place and stands on
// its own, nil if none does: a test that is called through a table of tests; a function of MIPS16
// code, whose direct calls are found in no pass through a mixed image. A label within a function
// does not stand on its own: from there, what is popped was never pushed.
func pointedOwner(p *program, at disasm.Addr) *dataflow.Function {
	entries := p.Entries.CandidatesBelow(at)
	for _, e := range entries[:min(len(entries), maxOwners)] {
		f := p.Flows.Function(disasm.Addr{PC: e, Mode: at.Mode})
		if f.Contains(at.PC) && !f.ByGuess(at.PC) && f.Balanced && !f.Unbalanced && !f.ReadsPreserved {
			return f
		}
	}
	return nil
}
