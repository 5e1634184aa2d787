package dataflow

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
)

// released tells whether a jump to a function can be a tail call: the return address was
// reloaded, or never left its register, and SP is known.
func (s *pathSearch) released(st *absint.State) bool {
	arch, conv := s.an.Arch, &s.an.conv
	sp, lr := st.Regs[arch.SP], st.Get(conv.link)
	switch {
	case conv.pushes():
		return sp.Kind == absint.StartRelative
	case lr.Kind == absint.StartMemory:
		return sp.Kind == absint.StartRelative && (sp.Base != lr.Base || sp.Off > lr.Off)
	}
	return lr == conv.ra && sp.IsStartOf(arch.SP)
}

// record keeps a way out, if it makes sense as one.
func (s *pathSearch) record(st *absint.State, ra absint.Value, tail bool) {
	arch, conv := s.an.Arch, &s.an.conv
	if ra == absint.CallerPC(arch) {
		ra = conv.ra
	}
	if ra.Kind == absint.StartMemory && !s.afterCall && !conv.pushes() && st.Holds(conv.ra) {
		// What is reloaded was stored on the way, through another register that
		// holds the same address (sp and s8).
		ra = conv.ra
	}
	cfa := st.Regs[arch.SP].Plus(arch.EntryCFA)
	if !tail && conv.pushes() && ra.Kind == absint.StartMemory && cfa.RelativeTo(arch.SP) && ra.Base == cfa.Base {
		cfa.Off = min(cfa.Off, ra.Off+arch.EntryCFA) // SP is higher where the return address has been popped
	}
	popped := !tail && conv.pushes() && cfa.Kind == absint.StartMemory && cfa.Base == absint.Base(arch.SP) && ra == absint.Value{}
	if !recoverable(cfa) || cfa.Kind == absint.Constant || !recoverable(ra) && !popped || belowSP(cfa, ra, arch) {
		return
	}
	if ra.Kind == absint.StartRelative && (ra != conv.ra || s.afterCall) {
		return // no return address, or one that the call overwrote
	}
	if ra.Kind == absint.StartMemory && ra.Base != absint.Base(arch.SP) && ra.Base != cfa.Base && !popsShadow(st, ra, arch) {
		return // a jump through memory that is not the frame's
	}
	s.found = append(s.found, ReturnPath{CFA: cfa, RA: ra, Calls: s.path.calls, Tail: tail, Changed: changed(st, arch.Preserved)})
}

// recordSum keeps a way out by a return to ra, where SP is a sum of registers.
func (s *pathSearch) recordSum(st *absint.State, ra absint.Value) {
	arch := s.an.Arch
	sp := st.Regs[arch.SP]
	cfa := sp.Plus(arch.EntryCFA)
	sum, ok := s.m.Sum(cfa)
	if ok && ra == (absint.Value{Kind: absint.StartMemory, Base: sp.Base, Off: sp.Off}) && slices.Contains(sum.Terms, absint.Term{Reg: arch.SP}) {
		s.found = append(s.found, ReturnPath{CFA: cfa, Sum: sum, Calls: s.path.calls, Changed: changed(st, arch.Preserved)})
	}
}

// popsShadow tells whether a return address comes off the shadow call stack, whose pointer then lies where
// the address was read. clang for RISC-V ends such functions by
//
//	addi sp,sp,48
//	ld   ra,-8(gp)      ◄─ PC
//	addi gp,gp,-8
//	ret
//
// and its tables say of all of that what holds in the function's middle. Without a shadow stack gp points to
// globals, and keeps its value: ld t1,16(gp); jr t1 is a call through one of these.
func popsShadow(st *absint.State, ra absint.Value, arch *cpu.Arch) bool {
	if !ra.OfRegister() {
		return false
	}
	top := cpu.Reg(ra.Base)
	return arch.Platform.Has(top) && ra.Off < 0 && st.Regs[top] == absint.StartOf(top).Plus(ra.Off)
}

// exceptionReturn keeps a way out by an exception return to ra, which the entry code saved with
// the other registers: another value is that of a mode to be entered for the first time. A
// jump out of the image behind the moves that prepare such a return is one: arm64 leaves the
// kernel through a trampoline page that user space shows, too.
func (s *pathSearch) exceptionReturn(st *absint.State, ra absint.Value, t *transfer) {
	arch := s.an.Arch
	sp := st.Regs[arch.SP]
	if s.an.conv.pushes() {
		if t.In.Flags&cpu.FlagException == 0 {
			return
		}
		sp, ra = popped(st, arch)
	}
	if !recoverable(sp) || sp.Kind == absint.Constant || ra.Kind != absint.StartMemory || !ra.OfRegister() {
		return
	}
	s.found = append(s.found, ReturnPath{CFA: sp, RA: ra, Calls: s.path.calls, Exception: true,
		BankedSP: t.In.Flags&cpu.FlagBankedSP != 0, Changed: changed(st, interruptible(arch))})
}

// popped are the SP and the PC that x86's iret takes from the stack, where the processor or the entry
// code pushed them: PC, code segment, flags and, always in 64-bit mode, SP and stack segment. In
// 32-bit mode the last two are there only if the interrupted code was less privileged, which the
// kernel, interrupted, is not (Intel SDM vol. 3A, 6.14.4 and 6.12.1).
func popped(st *absint.State, arch *cpu.Arch) (sp, pc absint.Value) {
	word := int64(arch.RegSize)
	at := st.Get(arch.SP)
	pc, sp = st.Load(at, uint8(word)), at.Plus(3*word)
	if word == 8 {
		sp = st.Load(sp, uint8(word))
	}
	return sp, pc
}

// interruptible are the registers that an exception return brings back: all but SP and PC.
func interruptible(arch *cpu.Arch) cpu.RegSet {
	all := cpu.RegSet(1)<<len(arch.Regs) - 1
	return all.Without(arch.SP).Without(arch.PC).Without(arch.Zero)
}

// belowSP tells whether a frame would lie below SP, or its return address outside of the
// frame.
func belowSP(cfa, ra absint.Value, arch *cpu.Arch) bool {
	if !cfa.RelativeTo(arch.SP) {
		return false
	}
	return cfa.Off < 0 || ra.Kind == absint.StartMemory && ra.Base == cfa.Base && (ra.Off < 0 || ra.Off >= cfa.Off)
}

// recoverable tells whether a value can be found from the registers and the stack at the
// place.
func recoverable(v absint.Value) bool {
	switch v.Kind {
	case absint.Constant:
		return true
	case absint.StartRelative, absint.StartMemory:
		return v.OfRegister()
	}
	return false
}

// changed are the registers of a set that do not hold what they held at the place.
func changed(st *absint.State, set cpu.RegSet) (out []RegValue) {
	for ; set != 0; set = set.Without(set.First()) {
		r := set.First()
		if v := st.Regs[r]; !v.IsStartOf(r) {
			out = append(out, RegValue{r, v})
		}
	}
	return out
}
