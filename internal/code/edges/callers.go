package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/target"
)

// maxCallers bounds the functions that call one, and the calls of each: where there are more, leaving out all
// but one names no caller.
const maxCallers = 32

// callers are the calls that lead to a function: where they return to, as image addresses; all: nothing
// else leads there.
type callers struct {
	returns []uint64
	all     bool
}

// Callers implements unwind.CallGraph. Example: mid_b of a module for MIPS is static. No data holds its
// address; with each of the four places where code builds the address (lui v0; addiu v0) goes a call through
// that register (-mlong-calls): the callers of mid_b are those four.
func (w *Graph) Callers(m *target.Module, pc uint64, mode cpu.Mode) (returns []uint64, all bool) {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return nil, false
	}
	p := w.of(m.Image)
	begins := p.beginnings(disasm.Addr{PC: inImage(m, pc), Mode: mode})
	if len(begins) == 0 {
		return nil, false
	}
	found := p.memos.callers.Get(begins[0], func() callers { return findCallers(p, m, begins) })
	for _, at := range found.returns {
		returns = append(returns, m.ToTarget(at))
	}
	return returns, found.all
}

// findCallers are the callers of the function in m that has these beginnings.
func findCallers(p *program, m *target.Module, begins []disasm.Addr) (c callers) {
	c.all = true
	for _, entry := range begins {
		s := callerSearch{p, m, entry}
		returns, all := s.run()
		c.returns, c.all = append(c.returns, returns...), c.all && all && !s.calledOtherwise()
	}
	slices.Sort(c.returns)
	c.returns = slices.Compact(c.returns)
	return c
}

// callerSearch looks for the callers of the function at entry in m.
type callerSearch struct {
	*program
	m     *target.Module
	entry disasm.Addr
}

// run lists where direct calls return to, and calls through a register that code has given the function's
// address; all: no place that builds the address does so for anything else, and no other function jumps there.
func (s *callerSearch) run() (returns []uint64, all bool) {
	mentions, all := discover.MentionsOf(s.Entries, s.entry, maxCallers)
	for _, in := range mentions {
		returns = append(returns, in.Returns...)
		if in.N > 0 {
			calls := s.callsOf(s.Flows.Function(in.Function))
			all = all && len(calls) >= in.N
			returns = append(returns, calls...)
		}
	}
	return returns, all
}

// calledOtherwise tells whether anything but this image's code may lead to a function: a pointer in data, be
// it only in the table of what other modules may call.
func (s *callerSearch) calledOtherwise() bool {
	if !s.Entries.HoldsPointers() || s.heldInData() || inInstruction(s.program, s.entry) {
		return true
	}
	if sym, ok := s.Img.Symbols.At(s.entry.PC); ok {
		if _, exported := s.Img.Symbols.Named("__ksymtab_" + sym.Name); exported { // holds distances on arm64 and x86
			return true
		}
	}
	return false
}

// heldInData tells whether a word of the image holds a function's address, and not only to have the
// function traced.
func (s *callerSearch) heldInData() (held bool) {
	eachPointer(s.program, s.entry, func(at uint64) bool {
		held = !isTraced(s.Img, at)
		return !held
	})
	return held
}

// maxCallerSize bounds the function whose calls are looked through, in bytes.
const maxCallerSize = 64 << 10

// callsOf are where the calls of f through registers to the function return to.
func (s *callerSearch) callsOf(f *dataflow.Function) (returns []uint64) {
	text, ok := s.Img.Segments.At(f.Entry.PC)
	if !ok {
		return nil
	}
	step := max(s.Arch.InsnAlignIn(s.entry.Mode), 1)
	end := min(f.ContiguousEnd(), f.Entry.PC+maxCallerSize)
	for at := f.Entry.PC + step; at <= end && len(returns) <= maxCallers; at += step {
		call, is := callsite.InSegment(s.m, text, at, s.entry.Mode)
		if !is || call.Direct {
			continue
		}
		if to, known := f.CallTarget(inImage(s.m, call.Addr)); known && to == s.entry {
			returns = append(returns, at)
		}
	}
	return returns
}
