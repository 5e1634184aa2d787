package code

import "github.com/backsight/backsight/cpu"

// Behind a call that never returns stands another function, which saves the return
// address. Nobody saves one that a call has just overwritten:
//
//	push {r4, lr}      f
//	bl   abort
//	push {r4, r5, lr}  g

// savesLink tells whether an instruction saves the link register to the stack.
func (m *machine) savesLink(in *cpu.Insn) bool {
	lr := m.arch.LR
	if lr == cpu.NoReg || in.Base != m.arch.SP {
		return false
	}
	return in.Op == cpu.OpStore && (in.Src == lr || in.Src2 == lr) || in.Op == cpu.OpStoreMulti && in.List.Has(lr)
}

// writesLink tells whether an instruction writes the link register.
func (m *machine) writesLink(in *cpu.Insn) bool {
	lr := m.arch.LR
	return in.Dst == lr || in.Dst2 == lr || in.Op != cpu.OpStoreMulti && in.List.Has(lr)
}

// beganBefore tells whether a function has begun its work: compilers call mcount
// before anything else is saved, and that gives LR back as it was (mov x9,x30; bl
// ftrace_caller; move at,ra; jal _mcount).
func (m *machine) beganBefore(st *state) bool {
	for i := range st.slots {
		if v := st.slots[i].val; v.kind == addr && v.off == 0 && m.arch.Preserved.Has(cpu.Reg(v.base)) {
			return true
		}
	}
	sp := st.regs[m.arch.SP]
	return sp.kind == addr && sp.base == base(m.arch.SP) && sp.off < -8
}
