package heights

import "github.com/backsight/backsight/cpu"

// idle tells whether an instruction can neither change what a state says nor transfer
// control nor presume anything: most cannot.
func (m *interp) idle(s *state, in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpNop:
		return true
	case cpu.OpClobber, cpu.OpSyscall:
		return in.List&(s.kept|s.pointers) == 0
	case cpu.OpLoad:
		entry := s.kept & m.unused
		return in.WB == 0 && !m.watched.Has(in.Dst) && !m.watched.Has(in.Dst2) && !entry.Has(in.Base) && !entry.Has(in.Index)
	case cpu.OpStore:
		entry := s.kept & m.unused
		return in.WB == 0 && !(entry | s.pointers).Has(in.Base) && !entry.Has(in.Index)
	case cpu.OpMove, cpu.OpAddImm:
		return !m.watched.Has(in.Dst) && !(s.kept & m.unused).Has(in.Src)
	case cpu.OpConst, cpu.OpInsert, cpu.OpAdd, cpu.OpAddLoad, cpu.OpSub, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm, cpu.OpShrImm, cpu.OpOr, cpu.OpCompareImm:
		return !m.watched.Has(in.Dst)
	}
	return false
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
