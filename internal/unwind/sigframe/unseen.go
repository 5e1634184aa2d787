package sigframe

import (
	"github.com/backsight/backsight/internal/stackwalk"
)

// Unseen implements stackwalk.Unseen: where the code that a handler returns to is not at hand, the frame tells that it is the
// kernel's. Linux for AArch64, RISC-V and MIPS has its trampoline in the vDSO, for ARM in a page of its own, which minidumps lack;
// C libraries have theirs in code of which symbols alone may be known.
func (Source) Unseen(s *stackwalk.State, pc, sp uint64) bool { return unseen(s, pc, sp) != nil }

// unseen is the trampoline at pc of a frame at sp whose code is not at hand, by what the kernel wrote beside the registers (marked), and by
// these, whose PC lies in a module's code; nil where they say nothing.
func unseen(s *stackwalk.State, pc, sp uint64) *trampoline {
	arch := s.Snapshot.Arch
	if !codeMissing(s, pc) {
		return nil
	}
	of := trampolinesOf(arch)
	for i := range of {
		t := &of[i]
		if t.abi != "" && t.abi != arch.ABI || !t.marked(s, sp) {
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

// codeMissing tells whether a trampoline may begin at a target address as far as is known: outside of all modules, and in a module
// without code where a function begins, or anywhere if no function is known.
func codeMissing(s *stackwalk.State, pc uint64) bool {
	m, _ := s.Snapshot.ModuleAt(pc)
	if s.Code(pc) != nil {
		return false
	}
	if m == nil {
		_, known := s.Snapshot.Memory.PermAt(pc)
		return !known
	}
	if !m.Hollow() || !hasRestorer(m.Image.Arch.Name) {
		return false
	}
	at := m.ToImage(pc) & m.Image.Arch.AddrMask()
	f, named := m.Image.Symbols.At(at)
	return m.Image.Segments.Executable(at) && (named && f.Addr == at || !m.Image.Symbols.HasFunctions())
}

// hasRestorer tells whether Linux lets the C library name the trampoline on a processor (asm/signal.h, sa_restorer).
func hasRestorer(arch string) bool {
	return arch == "x86_64" || arch == "i386" || arch == "arm" || arch == "aarch64"
}

// signals are the numbers that a signal can have.
const signals = 64

// Distances of words in struct sigcontext (uapi/asm/sigcontext.h), and what user programs have there.
const (
	csX86_64, user64             = 18 * 8, 0x33
	csI386, user32, user32Compat = 15 * 4, 0x73, 0x23
	cpsrARM, userARM             = 19 * 4, 0x10
	pstateARM64, userARM64       = 34 * 8, 0
	modeMask                     = 0x1f
	magicARM                     = 0x5ac3_c35a // uc_flags of a frame without siginfo (arch/arm/kernel/signal.c, setup_frame)
	argumentsMIPS                = 16 + 8      // in front of siginfo
)

// marked tells whether a signal's frame for the trampoline lies at sp: by the signal's number, uc_link, which the kernel clears,
// and the code segment or the processor's mode.
func (t *trampoline) marked(s *stackwalk.State, sp uint64) bool {
	arch := s.Snapshot.Arch
	word := func(off int64, size int) uint64 {
		v, ok := s.Snapshot.Memory.Uint(sp+uint64(off), size)
		if !ok {
			return ^uint64(0)
		}
		return v
	}
	switch arch.Name {
	case "x86_64":
		return word(t.context+csX86_64, 2) == user64
	case "i386":
		cs := word(t.context+csI386, 2)
		return cs == user32 || cs == user32Compat
	case "arm":
		if word(t.context+cpsrARM, 4)&modeMask != userARM {
			return false
		}
	case "aarch64":
		if word(t.context+pstateARM64, 4)&modeMask != userARM64 {
			return false
		}
	}
	info := int64(0)
	if arch.Name == "mips" || arch.Name == "mips64" {
		info = argumentsMIPS
	}
	align := max(arch.StackAlign, 1)
	if t.context < siginfo { // ucontext alone
		flags := word(0, 4)
		return arch.Name == "arm" && sp%align == 0 && (flags == 0 || flags == magicARM) && word(4, 4) == 0
	}
	number, link := word(info, 4), word(info+siginfo+int64(arch.RegSize), arch.RegSize)
	return sp%align == 0 && number != 0 && number <= signals && link == 0
}
