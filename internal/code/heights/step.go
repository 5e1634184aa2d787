package heights

import (
	"math"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// watch makes w tell idle instructions in a state: they can neither change what the state says nor transfer control nor
// presume anything.
func (m *interp) watch(w *stepping.Watch, s *state) {
	sp := m.arch.SP
	*w = stepping.Watch{Held: (s.kept | s.pointers).With(m.arch.PC), Pointers: s.pointers, Tracked: m.tracked, Unused: s.kept & m.unused, Stack: sp}
	if s.saved == 0 {
		return
	}
	lo, hi := int32(math.MaxInt32), int32(math.MinInt32)
	for set := s.saved; set != 0; set &= set - 1 {
		at := s.slot[set.First()]
		lo, hi = min(lo, at), max(hi, at)
	}
	w.SavedFrom, w.SavedTo = int64(lo)-int64(s.height[sp]), int64(hi)-int64(s.height[sp])+int64(m.slotSize)
}

// step executes an instruction that is not idle and does not transfer control.
func (m *interp) step(s *state, in *cpu.Insn) bool {
	if m.presumes(s, in) {
		return false
	}
	if in.Flags&cpu.FlagConditional == 0 {
		return m.exec(s, in)
	}
	skipped := *s
	if !m.exec(s, in) {
		return false
	}
	s.meet(&skipped)
	return s.pointers.Has(m.arch.SP)
}

// presumes tells whether an instruction uses what a preserved register held on entry.
// No function does at its beginning: what was taken for an entry is a label inside of a
// function or a landing pad (mov %rbx,%rdi; call __cxa_begin_catch). To save the register
// is no use.
func (m *interp) presumes(s *state, in *cpu.Insn) bool {
	entry := s.kept & m.unused
	switch in.Op {
	case cpu.OpMove, cpu.OpAddImm:
		return entry.Has(in.Src)
	case cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti:
		return entry.Has(in.Base) || entry.Has(in.Index)
	}
	return false
}
