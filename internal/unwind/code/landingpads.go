package code

import (
	"slices"

	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
)

// fromLandingPads derives the rule at the point from the landing pads of a function, from the first pad on, and
// puts it before the candidates from index on. reached: control comes to the point from the pads. No
// code is returned where the function calls nobody, or the point has cost enough.
func (s *search) fromLandingPads(owner *dataflow.Function, first disasm.Addr, index int) (pads *dataflow.Function, reached bool) {
	var st absint.State
	if owner.BehindCalls == "" && owner.AtLastCalls == "" || s.steps > s.most {
		return nil, false
	}
	pads = s.prog.Flows.LandingPads(owner, first)
	s.steps += pads.Steps()
	if !s.at.StateIn(pads, &st) {
		return pads, false
	}
	c := &candidate{how: guessed, fn: pads}
	c.Reset()
	if rules.FromState(&st, s.prog.Arch, &c.Rule) {
		s.tried = append(s.tried, attempt{pads, guessed, true, &c.Rule})
		s.forward = slices.Insert(s.forward, index, c)
	}
	return pads, true
}

// fromColdLandingPads derives rules for landing pads behind a cold part of their function. Example: GCC's
// f.cold in .text.unlikely ends in a call of __cxa_throw, and landing pads of f follow. Where f's frame is undone
// at the jump, the part is a function of its own, which the pads belong to. Example: MSVC's mainCRTStartup sets up
// the stack cookie, and jumps to __scrt_common_main_seh.
func (s *search) fromColdLandingPads(owner, part disasm.Addr) {
	f := s.function(owner)
	if f == nil || !f.Contains(part.PC) {
		return
	}
	if !f.FramedAt(part.PC) {
		if f = s.function(part); f == nil {
			return
		}
	}
	pad := dataflow.Behind(part, f, f)
	if g := s.function(pad); g != nil && pad.PC <= s.at.Site && g.IsLandingPadOf(f) && dataflow.Within(g, f) {
		s.fromLandingPads(f, pad, len(s.forward))
	}
}
