// Package sigframe steps out of signal handlers of Linux and of Darwin (darwin.go). On Linux a handler returns to a
// trampoline, a few instructions that ask the kernel to restore the interrupted
// registers from the stack:
//
//	handler's frames
//	SP at the trampoline ─► siginfo, ucontext { …, sigcontext: all registers }
//	                        …
//	SP in sigcontext     ─► interrupted frame, on the same stack or another one
//
// It recognises the trampoline by its instructions wherever they lie (vDSO, C
// library, signal page, stack), so it needs neither symbols nor call frame
// information. What may vary between kernels and CPUs is one row each of
// trampolines; the registers' places inside the sigcontext are cpu.Layouts.
package sigframe

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Source is the stackwalk.FrameSource of signal frames.
//
// The CFA it reports is SP of the interrupted code. That is where DWARF's own
// description of the trampoline puts it (glibc's x86-64 __restore_rt: CFA =
// [SP+160]), and it may lie below the handler's frames: sigaltstack.
type Source struct{}

var (
	_ stackwalk.FrameSource = Source{}
	_ stackwalk.Trampoline  = Source{}
)

// Method is MethodSigframe.
func (Source) Method() unwind.Method { return unwind.MethodSigframe }

// At tells whether a handler that returns to pc, its mode bit set or not, returns to a
// trampoline: to its first instruction. A thread may be stopped at any.
func (Source) At(s *stackwalk.State, pc uint64, mode cpu.Mode) bool {
	t, i := find(s, pc, mode)
	return t != nil && i == 0 || sigtramp(s, pc)
}

// find recognises the trampoline that has its i-th instruction at pc.
func find(s *stackwalk.State, pc uint64, mode cpu.Mode) (t *trampoline, i int) {
	arch := s.Snapshot.Arch
	pc, _ = arch.SplitCode(pc)
	code := s.Code(pc)
	if code == nil {
		return nil, 0
	}
	of := trampolinesOf(arch)
	for i := range of {
		t := &of[i]
		if t.abi != "" && t.abi != arch.ABI || t.mode != mode {
			continue
		}
		if i, ok := t.around(s, pc, code); ok {
			return t, i
		}
	}
	return nil, 0
}

func trampolinesOf(arch *cpu.Arch) []trampoline {
	for i := range trampolines {
		if trampolines[i].arch == arch.Name {
			return trampolines[i].trampolines
		}
	}
	return nil
}

// around tells on which of t's instructions pc is, where code lies, if all of them are there.
func (t *trampoline) around(s *stackwalk.State, pc uint64, code []byte) (i int, ok bool) {
	for i := range t.code {
		if t.at(code, i) && (i == 0 || t.at(s.Code(t.start(pc, i)), 0)) {
			return i, true
		}
	}
	return 0, false
}

// moved is what the instructions before the i-th have added to SP.
func (t *trampoline) moved(i int) (n int64) {
	for _, in := range t.code[:i] {
		n += in.moves
	}
	return n
}

// start is the address of the first instruction when pc is at the i-th.
func (t *trampoline) start(pc uint64, i int) uint64 {
	for _, in := range t.code[:i] {
		pc -= uint64(in.size)
	}
	return pc
}

// maxContext is larger than every LinuxSigcontext layout (mips o32: 592 bytes,
// n64: 600).
const maxContext = 640

// Step restores the interrupted registers.
func (Source) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	t, i := find(s, s.PC, s.Mode)
	if sp, ok := s.Regs.Lookup(arch.SP); t == nil && ok && !s.Exact {
		t = unseen(s, s.PC, sp)
	}
	if t == nil {
		return stepDarwin(s, out)
	}
	sp, known := s.Regs.Lookup(arch.SP)
	if _, ok := arch.Layouts[cpu.LinuxSigcontext]; !ok || !known {
		return unwind.NotCovered
	}
	regs, ok := t.registers(s, sp-uint64(t.moved(i)))
	if !ok {
		return unwind.NotCaptured
	}
	if !plausible(s.Snapshot, &regs) {
		return unwind.Malformed
	}
	cfa, _ := regs.Lookup(arch.SP)
	*out = stackwalk.Caller{Regs: regs, CFA: cfa & arch.AddrMask(), HasCFA: true, Exact: true}
	return unwind.Found
}

// registers are those in the frame of a trampoline whose first instruction runs with SP at sp; false where they were not captured.
func (t *trampoline) registers(s *stackwalk.State, sp uint64) (cpu.Registers, bool) {
	arch := s.Snapshot.Arch
	layout := arch.Layouts[cpu.LinuxSigcontext]
	var block [maxContext]byte
	n := s.Snapshot.Memory.Read(sp+uint64(t.context), block[:min(layout.Size, maxContext)])
	regs := arch.Read(layout, block[:n])
	return regs, regs.Known.Has(arch.PC) && regs.Known.Has(arch.SP)
}

// stepDarwin is Step for _sigtramp.
func stepDarwin(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	sp, known := s.Regs.Lookup(s.Snapshot.Arch.SP)
	if !known || !sigtramp(s, s.PC) {
		return unwind.NotCovered
	}
	regs, v := interrupted(s, sp)
	if v == unwind.Found {
		cfa, _ := regs.Lookup(s.Snapshot.Arch.SP)
		*out = stackwalk.Caller{Regs: regs, CFA: cfa & s.Snapshot.Arch.AddrMask(), HasCFA: true, Exact: true}
	}
	return v
}

// plausible tells whether regs may be the registers of interrupted code: it ran
// somewhere executable, or else, after a call through a bad pointer, it had at
// least a stack.
func plausible(snap *target.Snapshot, regs *cpu.Registers) bool {
	pc, _, known := snap.Arch.PCOf(regs)
	sp, hasSP := regs.Lookup(snap.Arch.SP)
	if !known || !hasSP {
		return false
	}
	if m, ok := snap.ModuleAt(pc); ok && (m.Image == nil || m.Image.Segments.Executable(m.ToImage(pc))) {
		return true
	}
	if p, ok := snap.Memory.PermAt(pc); ok && p&target.PermExec != 0 {
		return true
	}
	_, ok := snap.Memory.Word(sp)
	return ok
}
