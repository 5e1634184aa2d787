package heights

import "github.com/backsight/backsight/cpu"

// access executes loads and stores with write-back. What is not addressed by SP or a
// pointer that derives from SP is assumed to lie elsewhere, as in absint.State.Store.
func (m *interp) access(s *state, in *cpu.Insn) bool {
	known := s.pointers.Has(in.Base) && in.Index == cpu.NoReg && in.Imm > -maxHeight && in.Imm < maxHeight
	at, back := int32(0), int32(0)
	if known {
		at = s.height[in.Base] + int32(in.Imm)
		back = s.height[in.Base] + in.WB
	}
	switch in.Op {
	case cpu.OpStore, cpu.OpStoreMulti:
		if known {
			m.store(s, in, at)
		}
	case cpu.OpLoad:
		m.load(s, in, at, known)
	default:
		m.loadMulti(s, in, at, known)
	}
	if in.WB != 0 && in.Base < cpu.MaxRegs {
		if !known {
			s.lose(cpu.SetOf(in.Base))
		} else if s.pointers.Has(in.Base) {
			s.height[in.Base] = back
		}
	}
	return s.pointers.Has(m.arch.SP)
}

// store executes a store to a known height.
func (m *interp) store(s *state, in *cpu.Insn, at int32) {
	if in.Op == cpu.OpStore {
		s.store(at, in.Src, in.Size, m.slotSize)
		if in.Src2 != cpu.NoReg {
			s.store(at+int32(in.Size), in.Src2, in.Size, m.slotSize)
		}
		return
	}
	for set := in.List; set != 0; set &= set - 1 {
		s.store(at, set.First(), in.Size, m.slotSize)
		at += int32(in.Size)
	}
}

// load executes a load of one or two registers. known: from the height at.
func (m *interp) load(s *state, in *cpu.Insn, at int32, known bool) {
	for i, r := range [...]cpu.Reg{in.Dst, in.Dst2} {
		if r >= cpu.MaxRegs {
			continue
		}
		if !known {
			s.lose(cpu.SetOf(r))
		} else {
			s.load(at+int32(i)*int32(in.Size), r, in.Size, m.slotSize)
		}
	}
}

// loadMulti executes a load of a list of registers.
func (m *interp) loadMulti(s *state, in *cpu.Insn, at int32, known bool) {
	if !known {
		s.lose(in.List)
		return
	}
	for set := in.List; set != 0; set &= set - 1 {
		s.load(at, set.First(), in.Size, m.slotSize)
		at += int32(in.Size)
	}
}
