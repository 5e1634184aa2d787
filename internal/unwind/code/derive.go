package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// derive turns what is known at a place, in terms of the function's entry, into
// the rule for it. live are the registers that hold what st says at the moment of
// the capture: all in an exact frame, those that survive a call otherwise.
func (m *machine) derive(st *state, out *unwind.Rule) bool {
	var ok bool
	if out.CFA, ok = m.reach(st, startOf(m.arch.SP).plus(m.arch.EntryCFA)); !ok {
		return false
	}
	if out.RA, ok = m.returnAddress(st); !ok {
		return false
	}
	m.registers(st, out)
	return true
}

// registers adds the rules of the preserved registers.
func (m *machine) registers(st *state, out *unwind.Rule) {
	for s := m.arch.Preserved; s != 0; s = s.Without(s.First()) {
		r := s.First()
		if st.regs[r].isStart(r) {
			continue
		}
		rr, ok := m.saved(st, startOf(r))
		if !ok {
			rr = unwind.RegRule{Kind: unwind.Undefined, Base: cpu.NoReg}
		}
		rr.Reg = r
		out.Add(rr)
	}
}

// reach finds an expression over the current registers for a value in terms of
// the start: SP first, then FP, then any other register, then a slot that one of
// them leads to (a realigned frame keeps the old SP in memory).
func (m *machine) reach(st *state, want value) (unwind.RegRule, bool) {
	rr := unwind.RegRule{Reg: cpu.NoReg, Base: cpu.NoReg}
	if r, d, ok := m.holder(st, want); ok {
		rr.Kind, rr.Base, rr.Off = unwind.RegPlus, r, d
		return rr, true
	}
	for i := range st.slots {
		sl := &st.slots[i]
		if sl.val.kind != addr || sl.val.base != want.base || int(sl.size) != m.arch.RegSize {
			continue
		}
		if r, d, ok := m.holder(st, value{kind: addr, base: sl.base, off: sl.off}); ok {
			rr.Kind, rr.Base, rr.Off, rr.Add = unwind.AtReg, r, d, want.off-sl.val.off
			return rr, true
		}
	}
	return rr, false
}

// holder finds a register that holds want or differs from it by a constant.
func (m *machine) holder(st *state, want value) (cpu.Reg, int64, bool) {
	try := func(r cpu.Reg) (int64, bool) {
		v := st.get(r)
		return want.off - v.off, v.kind == addr && v.base == want.base
	}
	if d, ok := try(m.arch.SP); ok {
		return m.arch.SP, d, true
	}
	if d, ok := try(m.arch.FP); ok {
		return m.arch.FP, d, true
	}
	for r := range m.arch.Regs {
		if d, ok := try(cpu.Reg(r)); ok {
			return cpu.Reg(r), d, true
		}
	}
	return cpu.NoReg, 0, false
}

// returnAddress finds where the return address is: still in its register, in a
// slot, or (x86) where the call pushed it.
func (m *machine) returnAddress(st *state) (unwind.RegRule, bool) {
	lr := m.arch.LR
	if lr == cpu.NoReg {
		return unwind.RegRule{Kind: unwind.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -m.arch.EntryCFA}, true
	}
	if v := st.regs[lr]; v.kind == konst && v.off == 0 {
		// _start clears RA before anything else: the end of the stack.
		if _, ok := m.saved(st, startOf(lr)); !ok {
			return unwind.RegRule{Kind: unwind.Constant, Reg: cpu.NoReg, Base: cpu.NoReg}, true
		}
	}
	return m.saved(st, startOf(lr))
}

// saved finds where a register's entry value is: in a register or in a slot.
func (m *machine) saved(st *state, want value) (unwind.RegRule, bool) {
	rr := unwind.RegRule{Reg: cpu.NoReg, Base: cpu.NoReg}
	if r := cpu.Reg(want.base); st.regs[r] == want {
		rr.Kind, rr.Base = unwind.RegPlus, r
		return rr, true
	}
	cfa := m.arch.EntryCFA
	for i := range st.slots {
		sl := &st.slots[i]
		if sl.val != want {
			continue
		}
		if sl.base == base(m.arch.SP) {
			if sl.off >= 0 {
				continue // above the CFA is the caller's: entry is not where the function begins
			}
			rr.Kind, rr.Off = unwind.AtCFA, sl.off-cfa
			return rr, true
		}
		if r, d, ok := m.holder(st, value{kind: addr, base: sl.base, off: sl.off}); ok {
			rr.Kind, rr.Base, rr.Off = unwind.AtReg, r, d
			return rr, true
		}
	}
	for r := range m.arch.Regs {
		if st.regs[r] == want {
			rr.Kind, rr.Base = unwind.RegPlus, cpu.Reg(r)
			return rr, true
		}
	}
	return rr, false
}

// agrees tells whether a rule found otherwise (from the exits) says the same as
// the state: the same CFA and the same return address.
func (m *machine) agrees(st *state, rule *unwind.Rule) bool {
	if m.eval(st, &rule.CFA, value{}) != startOf(m.arch.SP).plus(m.arch.EntryCFA) {
		return false
	}
	cfa := startOf(m.arch.SP).plus(m.arch.EntryCFA)
	if m.arch.LR != cpu.NoReg {
		return m.eval(st, &rule.RA, cfa) == startOf(m.arch.LR)
	}
	switch rule.RA.Kind {
	case unwind.AtCFA:
		return rule.RA.Off == -m.arch.EntryCFA
	case unwind.AtReg:
		return st.get(rule.RA.Base).plus(rule.RA.Off) == startOf(m.arch.SP)
	}
	return false
}

// eval is the abstract value of a rule in a state.
func (m *machine) eval(st *state, rr *unwind.RegRule, cfa value) value {
	size := uint8(m.arch.RegSize)
	switch rr.Kind {
	case unwind.RegPlus:
		return st.get(rr.Base).plus(rr.Off)
	case unwind.AtReg:
		return st.load(st.get(rr.Base).plus(rr.Off), size).plus(rr.Add)
	case unwind.AtCFA:
		return st.load(cfa.plus(rr.Off), size)
	case unwind.Constant:
		return constant(rr.Off)
	}
	return value{}
}
