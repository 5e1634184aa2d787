package code

import (
	"slices"

	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
)

// landingPad tells whether code that no flow leads to is a part of the function before: it
// uses what the function left in registers or overwrites that, returns with a frame that it
// did not make, or calls without a way back.
func landingPad(f *dataflow.Function) bool {
	return f != nil && (f.ReadsPreserved || f.Contradicted() || f.Loses() || !f.Balanced && dataflow.Undefines(f))
}

// padSearch derives the rule for the point of a search from landing pads of a function. The
// rule goes before the candidates from index on.
type padSearch struct {
	*search
	owner *dataflow.Function
	index int
}

// maxPads bounds the landing pads that are told apart in front of a point.
const maxPads = 16

// from goes through the pads from one on. They are entered with the stack as it is between
// the function's calls, and follow one another: where one ends (in _Unwind_Resume) before
// the point, the next begins.
func (p padSearch) from(first disasm.Addr) {
	if p.owner.BehindCalls == "" {
		return
	}
	for pads := []disasm.Addr{first}; len(pads) <= maxPads && p.steps <= maxSteps; {
		f := p.owner.AnalyzePads(pads)
		p.steps += f.Steps()
		if p.rule(f) {
			return
		}
		last := pads[len(pads)-1]
		next := disasm.Addr{PC: f.SkipData(disasm.Addr{PC: dataflow.EndFrom(f, last.PC), Mode: last.Mode}), Mode: last.Mode}
		if next.PC <= last.PC || next.PC > p.at.Site {
			return
		}
		if pad := p.function(next); !landingPad(pad) || !dataflow.Within(pad, p.owner) {
			return
		}
		pads = append(pads, next)
	}
}

// rule adds the rule at the point by the function with its landing pads; false where control
// does not come to the point.
func (p padSearch) rule(f *dataflow.Function) bool {
	var st absint.State
	c := &candidate{how: guessed, fn: f}
	c.Reset()
	if !p.at.StateIn(f, &st) {
		return false
	}
	if rules.FromState(&st, p.prog.Arch, &c.Rule) {
		p.tried = append(p.tried, attempt{f, guessed, true, &c.Rule})
		p.forward = slices.Insert(p.forward, p.index, c)
	}
	return true
}

// fromColdPads derives rules for landing pads that stand behind a part of their function which
// was moved away (.text.unlikely of GCC: f.cold ends in __cxa_throw, pads of f follow).
func (s *search) fromColdPads(owner, part disasm.Addr) {
	f := s.function(owner)
	if f == nil || !f.Contains(part.PC) {
		return
	}
	pad := disasm.Addr{PC: f.SkipData(disasm.Addr{PC: dataflow.EndFrom(f, part.PC), Mode: part.Mode}), Mode: part.Mode}
	if g := s.function(pad); pad.PC <= s.at.Site && landingPad(g) && dataflow.Within(g, f) {
		padSearch{s, f, len(s.forward)}.from(pad)
	}
}
