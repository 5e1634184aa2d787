package sigframe

import (
	"github.com/backsight/backsight/unwind"
)

// Unseen implements unwind.Unseen: where the code that a handler returns to was not captured, the frame tells that it is the
// kernel's. Linux for AArch64, RISC-V and MIPS has its trampoline in the vDSO, for ARM in a page of its own, which minidumps lack.
func (Source) Unseen(s *unwind.State) bool { return unseen(s) != nil }

// signals are the numbers that a signal can have.
const signals = 64

// unseen is the trampoline of a frame outside of all that was captured, by the siginfo at the frame's beginning, which tells the
// signal, and the registers, whose PC lies in a module's code; nil where these say nothing.
func unseen(s *unwind.State) *trampoline {
	arch := s.Snapshot.Arch
	info := uint64(0)
	switch arch.Name {
	case "aarch64", "riscv64", "riscv32", "arm":
	case "mips", "mips64":
		info = contextMIPSRT - siginfo - 2*4 - 12 - 4
	default:
		return nil // restorers in the C library
	}
	sp, ok := s.Regs.Lookup(arch.SP)
	_, known := s.Snapshot.Memory.PermAt(s.PC)
	if !ok || known || s.Exact || s.Module != nil || s.Code(s.PC) != nil {
		return nil
	}
	number, ok := s.Snapshot.Memory.Uint(sp+info, 4)
	if !ok || number == 0 || number > signals {
		return nil
	}
	of := trampolinesOf(arch)
	for i := range of {
		t := &of[i]
		if t.abi != "" && t.abi != arch.ABI || t.context < siginfo {
			continue
		}
		regs, ok := t.registers(s, sp)
		pc, _, at := arch.PCOf(&regs)
		if m, in := s.Snapshot.ModuleAt(pc); ok && at && in && m.Image != nil && m.Image.Segments.Executable(m.ToImage(pc)) {
			return t
		}
	}
	return nil
}
