package absint

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Target is where a call or jump goes in a state, if that is one known place.
func (m *Interp) Target(st *State, in *cpu.Insn) (disasm.Addr, bool) {
	if in.Flags&cpu.FlagTable != 0 {
		return disasm.Addr{}, false
	}
	switch {
	case in.Flags&cpu.FlagMemory != 0:
		return m.CodeAt(m.LoadedTarget(st, st.Operand(in)))
	case in.Src != cpu.NoReg && in.Target == 0:
		return m.CodeAt(st.RegisterTarget(in, m.Arch))
	}
	return disasm.Target(in), true
}

// LoadedTarget is the target that a transfer through memory reads at an address.
func (m *Interp) LoadedTarget(st *State, at Value) Value {
	return m.Loaded(st, at, &cpu.Insn{Size: uint8(m.Arch.AddrSize)})
}

// RegisterTarget is where a transfer through a register goes; through PC it means that
// no register holds the target.
func (s *State) RegisterTarget(in *cpu.Insn, arch *cpu.Arch) Value {
	if in.Src == arch.PC {
		return Value{}
	}
	return s.Get(in.Src).Plus(in.Imm)
}

// CodeAt is the code address that a constant stands for; false where v is no constant
// or the image has no code there.
func (m *Interp) CodeAt(v Value) (disasm.Addr, bool) {
	if v.Kind != Constant {
		return disasm.Addr{}, false
	}
	return m.Pointer(uint64(v.Off))
}

// ReturnTarget is the value that a return jumps to; x86's is popped.
func (m *Interp) ReturnTarget(st *State, in *cpu.Insn) Value {
	if in.Src != cpu.NoReg {
		v := st.Get(in.Src)
		m.Effect(st, in, 0)
		return v
	}
	v := st.Load(st.Get(m.Arch.SP), uint8(m.Arch.RegSize))
	if v == Pushed(m.Arch) && m.Arch.CallPushesRA {
		return StartOf(m.Arch.PC) // the slot that the call pushed
	}
	return v
}

// LoadedPC is where a load of PC goes once it happened. Zcmp's popret returns through
// the link register that it has just loaded.
func (s *State) LoadedPC(in *cpu.Insn, arch *cpu.Arch) Value {
	if in.Op == cpu.OpLoadMulti && !in.List.Has(arch.PC) {
		return s.Get(arch.LR)
	}
	return s.Get(arch.PC)
}

// Pushed is the word that SP points to on entry: the return address where a call pushes that.
func Pushed(arch *cpu.Arch) Value { return Value{Kind: StartMemory, Base: Base(arch.SP)} }

// CallerPC is the value that a return to the caller goes to.
func CallerPC(arch *cpu.Arch) Value {
	if arch.CallPushesRA {
		return StartOf(arch.PC)
	}
	return StartOf(arch.LR)
}

// Foreign tells whether a stack pointer comes from memory or from an argument: longjmp,
// setcontext, a switch of stacks.
func Foreign(sp Value, arch *cpu.Arch) bool {
	return sp.Kind == StartMemory || sp.Kind == OtherStack || sp.Kind == StartRelative && sp.Base != Base(arch.SP) && sp.OfRegister()
}

// LeftStack tells whether SP is another stack than the caller's. The caller's frame pointer
// is none: Clang outlines ends of functions (mov sp,x29; ldp …; ret).
func LeftStack(sp Value, arch *cpu.Arch) bool { return Foreign(sp, arch) && !sp.RelativeTo(arch.FP) }

// ReadsPreserved tells whether an instruction uses what a preserved register holds,
// where that is what the register held at the start. To save the register is no use.
func (s *State) ReadsPreserved(in *cpu.Insn, arch *cpu.Arch) bool {
	entry := func(r cpu.Reg) bool {
		return arch.Preserved.Has(r) && !arch.Globals.Has(r) && s.Regs[r].IsStartOf(r)
	}
	switch in.Op {
	case cpu.OpMove, cpu.OpAddImm:
		return entry(in.Src)
	case cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti:
		return entry(in.Base) || entry(in.Index)
	}
	return false
}
