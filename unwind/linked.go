package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
)

// linked is the entry of a function that a table takes for a piece of a larger one: where the
// direct call goes that left the link register. LuaJIT has one frame description entry for its
// whole interpreter, helpers included, which the interpreter calls with nothing saved:
//
//	6b870  bl   6eb4c          ◄─ x30 is 6b874; the table says CFA=x29+16 RA=[CFA-8]
//	…
//	6eb4c  eor  w3,w0,w1       a leaf, which returns by x30
func (a *startRules) linked(s *State, table *candidate) (entry uint64, ok bool) {
	ra, mode, known := linkOf(s)
	if !known || s.Module == nil || s.Module.Image == nil {
		return 0, false
	}
	site, kind := callsite.BeforeIn(s.Snapshot, s.Module, ra, mode)
	if kind != callsite.Call || !site.Direct || !s.Module.Contains(site.Target) {
		return 0, false
	}
	entry = s.Module.ToImage(site.Target) & s.Module.Image.Arch.AddrMask()
	return entry, entry != table.start && a.covers(s, table, entry)
}

// covers tells whether the source which found c takes the code at an image address for the
// function that s runs in.
func (a *startRules) covers(s *State, c *candidate, pc uint64) bool {
	src := ruleSource(a.sources, c.method)
	q, ok := queryOf(s)
	if src == nil || !ok || c.flags&StartStated == 0 {
		return false
	}
	q.PC, q.Resume, q.Exact = pc, pc, true
	scratch := a.space()
	scratch.query = q
	scratch.rule.Reset()
	return src.Rule(&scratch.query, &scratch.rule) == Found && scratch.rule.Flags&StartStated != 0 && scratch.rule.Start == c.start
}

// linkOf is the address in the link register; false where the processor has none, or its value is
// not known.
func linkOf(s *State) (ra uint64, mode cpu.Mode, ok bool) {
	arch := s.Snapshot.Arch
	lr, ok := s.Regs.Lookup(arch.LR)
	if arch.CallPushesRA || !ok {
		return 0, 0, false
	}
	ra, mode = arch.SplitCode(lr & arch.AddrMask())
	return ra, mode, true
}

// returnsByLink tells whether the frame stands at an instruction that returns by the link
// register, to elsewhere than c. The same interpreter's epilogue has x29 back when it returns, and
// the table takes the caller's x29 for its own.
func returnsByLink(s *State, c *candidate) bool {
	var in [2]cpu.Insn
	ra, _, ok := linkOf(s)
	arch := s.Snapshot.Arch
	return ok && arch.Decoder != nil && arch.Decoder.Decode(s.Code(s.PC), s.PC, s.Mode, in[:]) > 0 &&
		in[0].Op == cpu.OpReturn && in[0].Src == arch.LR && in[0].Flags&(cpu.FlagConditional|cpu.FlagException) == 0 && c.pc != ra
}
