// Package rules turns what the analyses of code know at a place into unwind rules, and
// compares rules:
//
//	state at the place, in terms of the entry     FromState      forward from an entry
//	SP and RA where a way out leaves              FromPath       backward from a return
//	heights of SP and saved registers             FromHeights    both in one pass
//	the first basic block of a function           ABI            as the MIPS ABI has it
package rules

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/stackwalk"
)

// FromState turns what is known at a place, in terms of the function's entry, into the
// rule for the place; false where the CFA or the return address cannot be found. st says
// what the registers hold at the moment of the capture: all of them in an exact frame,
// those that survive a call otherwise.
func FromState(st *absint.State, arch *cpu.Arch, out *stackwalk.Rule) bool {
	var ok bool
	if out.CFA, ok = reach(st, absint.StartOf(arch.SP).Plus(arch.EntryCFA), arch); !ok {
		return false
	}
	if out.RA, ok = returnAddress(st, arch); !ok {
		return false
	}
	for s := arch.Preserved; s != 0; s = s.Without(s.First()) {
		r := s.First()
		if st.Regs[r].IsStartOf(r) {
			continue
		}
		rr, ok := saved(st, absint.StartOf(r), arch)
		if !ok {
			rr.Kind = stackwalk.Undefined
		}
		rr.Reg = r
		out.Add(rr)
	}
	return true
}

// ByFP takes the CFA of a rule by FromState from the frame pointer, where that points to the frame's record; false where it does not.
func ByFP(st *absint.State, arch *cpu.Arch, r *stackwalk.Rule) bool {
	v, want := st.Get(arch.FP), absint.StartOf(arch.SP).Plus(arch.EntryCFA)
	if v.Kind != absint.StartRelative || v.Base != want.Base || !pointsToRecord(st, arch) {
		return false
	}
	r.CFA = noRule()
	r.CFA.Kind, r.CFA.Base, r.CFA.Off = stackwalk.RegPlus, arch.FP, want.Off-v.Off
	return true
}

// noRule is a rule of no kind, over no registers.
func noRule() stackwalk.RegRule { return stackwalk.RegRule{Reg: cpu.NoReg, Base: cpu.NoReg} }

// reach finds an expression over the current registers for a value in terms of the
// start: by a register that holder names, else by a slot that one leads to (a realigned
// frame keeps the old SP in memory).
func reach(st *absint.State, want absint.Value, arch *cpu.Arch) (stackwalk.RegRule, bool) {
	rr := noRule()
	if r, d, ok := holder(st, want, arch); ok {
		rr.Kind, rr.Base, rr.Off = stackwalk.RegPlus, r, d
		return rr, true
	}
	for i := range st.Slots {
		sl := &st.Slots[i]
		if sl.Val.Kind != absint.StartRelative || sl.Val.Base != want.Base || int(sl.Size) != arch.RegSize {
			continue
		}
		if r, d, ok := holder(st, sl.Address(), arch); ok {
			rr.Kind, rr.Base, rr.Off, rr.Add = stackwalk.AtReg, r, d, want.Off-sl.Val.Off
			return rr, true
		}
	}
	return rr, false
}

// holder finds a register that holds want or differs from want by a constant: SP first, then
// the frame pointer where it points to a frame record, then of the registers that functions
// preserve the one with the lowest address, then any other. Where a function has moved SP by
// alloca, several may hold addresses in its frame, those of local variables for a while; its own
// frame pointer (s8 on MIPS, r7 in Thumb code, whatever the ABI says) is what SP was before.
// Registers that the function has saved come first: one that never returns need not save others, and
// those that it calls, which never return either, overwrite them as well (what CHICKEN makes of Scheme, TestSavedBase).
func holder(st *absint.State, want absint.Value, arch *cpu.Arch) (cpu.Reg, int64, bool) {
	try := func(r cpu.Reg) (int64, bool) {
		v := st.Get(r)
		return want.Off - v.Off, v.Kind == absint.StartRelative && v.Base == want.Base
	}
	if d, ok := try(arch.SP); ok {
		return arch.SP, d, true
	}
	if d, ok := try(arch.FP); ok && pointsToRecord(st, arch) {
		return arch.FP, d, true
	}
	lowest, distance, kept := cpu.NoReg, int64(0), false
	for s := arch.Preserved; s != 0; s = s.Without(s.First()) {
		r := s.First()
		d, ok := try(r)
		if !ok {
			continue
		}
		if saved := st.Holds(absint.StartOf(r)); lowest == cpu.NoReg || saved && !kept || saved == kept && d > distance {
			lowest, distance, kept = r, d, saved
		}
	}
	if lowest != cpu.NoReg {
		return lowest, distance, true
	}
	for r := range arch.Regs {
		if d, ok := try(cpu.Reg(r)); ok {
			return cpu.Reg(r), d, true
		}
	}
	return cpu.NoReg, 0, false
}

// pointsToRecord tells whether the frame pointer's own caller's value was saved where it points to, or
// next to that: [rbp], [x29], [r11-4] in ARM code, [s0-16] in RV64's.
func pointsToRecord(st *absint.State, arch *cpu.Arch) bool {
	at := st.Get(arch.FP)
	for i := range st.Slots {
		sl := &st.Slots[i]
		if a := sl.Address(); sl.Val == absint.StartOf(arch.FP) && a.Base == at.Base && a.Off <= at.Off && at.Off-a.Off <= 2*int64(arch.RegSize) {
			return true
		}
	}
	return false
}

// returnAddress finds where the return address is: still in its register, in a slot, or
// (x86) where the call pushed it, or in the register into which it was popped. So the C library's vfork keeps it,
// whose child runs on the same stack, and clang returns with -mlvi-cfi: pop %rcx; lfence; jmp *%rcx.
func returnAddress(st *absint.State, arch *cpu.Arch) (stackwalk.RegRule, bool) {
	rr := noRule()
	if arch.CallPushesRA {
		rr.Kind, rr.Off = stackwalk.AtCFA, -arch.EntryCFA
		if sp := st.Regs[arch.SP]; sp.RelativeTo(arch.SP) && sp.Off > 0 {
			if r := slices.Index(st.Regs[:len(arch.Regs)], absint.Pushed(arch)); r >= 0 {
				rr.Kind, rr.Base, rr.Off = stackwalk.RegPlus, cpu.Reg(r), 0
			}
		}
		return rr, true
	}
	lr := arch.LR
	found, ok := saved(st, absint.StartOf(lr), arch)
	if !ok && st.Regs[lr] == absint.Const(0) {
		rr.Kind = stackwalk.Constant // _start clears RA before anything else: the end of the stack
		return rr, true
	}
	return found, ok
}

// saved finds where a register's entry value is: in the register, in a slot of the frame, in another register, or in a slot
// elsewhere, which others may write meanwhile. OCaml's caml_c_call for ARM saves lr in r4, which it returns by, and in the
// run-time's state.
func saved(st *absint.State, want absint.Value, arch *cpu.Arch) (stackwalk.RegRule, bool) {
	rr := noRule()
	if r := cpu.Reg(want.Base); st.Regs[r] == want {
		rr.Kind, rr.Base = stackwalk.RegPlus, r
		return rr, true
	}
	slot, ok := inSlot(st, want, arch)
	if ok && slot.Kind == stackwalk.AtCFA {
		return slot, true
	}
	for r := range arch.Regs {
		if st.Regs[r] == want {
			rr.Kind, rr.Base = stackwalk.RegPlus, cpu.Reg(r)
			return rr, true
		}
	}
	return slot, ok
}

// inSlot finds the slot that holds a register's entry value, one that SP still covers before
// one below: a routine that saved the register for a while is over (RISC-V's ftrace_caller, which
// links in t0 and runs before the function saves ra itself). A slot of the frame comes before
// one elsewhere: of a caller's frame nobody knows the pointer to the shadow call stack.
func inSlot(st *absint.State, want absint.Value, arch *cpu.Arch) (found stackwalk.RegRule, ok bool) {
	for i := range st.Slots {
		sl := &st.Slots[i]
		at := sl.Address()
		inFrame := at.RelativeTo(arch.SP)
		if sl.Val != want || ok && (sl.Released() || !inFrame) {
			continue
		}
		rr := noRule()
		if inFrame {
			if sl.Off >= 0 {
				continue // above the CFA is the caller's: no function begins at the entry
			}
			rr.Kind, rr.Off = stackwalk.AtCFA, sl.Off-arch.EntryCFA
		} else if r, d, holds := holder(st, at, arch); holds {
			rr.Kind, rr.Base, rr.Off = stackwalk.AtReg, r, d
		} else {
			continue
		}
		if found, ok = rr, true; inFrame && !sl.Released() {
			break
		}
	}
	return found, ok
}

// Agrees tells whether a rule that was found otherwise (from the ways out) says the same
// as a state: the same CFA and the same return address.
func Agrees(st *absint.State, rule *stackwalk.Rule, arch *cpu.Arch) bool {
	cfa := absint.StartOf(arch.SP).Plus(arch.EntryCFA)
	if evaluate(st, &rule.CFA, absint.Value{}, arch) != cfa {
		return false
	}
	if !arch.CallPushesRA {
		return evaluate(st, &rule.RA, cfa, arch) == absint.StartOf(arch.LR)
	}
	switch rule.RA.Kind {
	case stackwalk.AtCFA:
		return rule.RA.Off == -arch.EntryCFA
	case stackwalk.AtReg:
		return st.Get(rule.RA.Base).Plus(rule.RA.Off) == absint.StartOf(arch.SP)
	}
	return false
}

// evaluate is the abstract value of a rule in a state.
func evaluate(st *absint.State, rr *stackwalk.RegRule, cfa absint.Value, arch *cpu.Arch) absint.Value {
	size := uint8(arch.RegSize)
	switch rr.Kind {
	case stackwalk.RegPlus:
		return st.Get(rr.Base).Plus(rr.Off)
	case stackwalk.AtReg:
		return st.Load(st.Get(rr.Base).Plus(rr.Off), size).Plus(rr.Add)
	case stackwalk.AtCFA:
		return st.Load(cfa.Plus(rr.Off), size)
	case stackwalk.Constant:
		return absint.Const(rr.Off)
	}
	return absint.Value{}
}

// Undefines tells whether a rule gives up a preserved register: functions save what they
// clobber, so that no function began where the rule was derived from.
func Undefines(r *stackwalk.Rule) bool {
	for i := range r.N {
		if r.Regs[i].Kind == stackwalk.Undefined {
			return true
		}
	}
	return false
}
