// Package badcall undoes a call through a bad pointer. The thread stands where no
// code is (NULL, a data pointer, an unmapped module), so nobody has a rule for its
// PC; but the call that led there has only just been made, and is undone by hand:
//
//	call *%rax      x86:    return address at [SP], caller's SP = SP + word
//	jalr t9         others: return address in LR,   caller's SP = SP
//
// A tail jump through a bad pointer looks the same: its function is gone from the
// stack, and the caller found is that function's. So does a call of a nested function through
// a trampoline on the stack.
package badcall

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Source is the stackwalk.FrameSource of bad calls. Its method is code: the one instruction that
// has run since the caller, the call, is analysed.
type Source struct{}

var _ stackwalk.FrameSource = Source{}

// Method is MethodCode.
func (Source) Method() unwind.Method { return unwind.MethodCode }

// Step undoes the call. Nothing has run since, so that all registers are the
// caller's, scratch registers included; but LR, what it held before, is lost, and
// so is the status register, whose ISA mode is that of the bad target (ARM).
//
// A function that returns to a bad address, its stack smashed, is no call. On x86
// [SP] rarely is a return address then; on most others LR is the bad address
// itself. ARM's `pop {r4, pc}` however leaves in LR where the function's last call
// returned to.
func (Source) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	sp, ok := s.Regs.Lookup(arch.SP)
	if !ok || !s.Exact {
		return unwind.NotCovered
	}
	up, generated := trampoline(s, sp)
	if !generated && executable(s.Snapshot, s.PC) {
		return unwind.NotCovered
	}
	sp += uint64(up)
	raw, ok := s.Regs.Lookup(arch.LR)
	if arch.CallPushesRA {
		raw, ok = s.Snapshot.Memory.Word(sp)
	}
	if !ok {
		return unwind.NotCovered
	}
	ra, mode := arch.SplitCode(raw)
	site, a := callsite.Before(s.Snapshot, ra, mode)
	if a != callsite.Call || returned(s, sp, &site) || site.Direct && begun(s, raw) {
		return unwind.NotCovered
	}
	cfa := (sp + uint64(arch.EntryCFA)) & arch.AddrMask()
	*out = stackwalk.Caller{Regs: *s.Regs, CFA: cfa, HasCFA: true, Sized: true}
	out.Regs.Forget(arch.LR)
	out.Regs.Forget(arch.Status)
	out.Regs.Set(arch.SP, sp+uint64(arch.EntryCFA))
	out.Regs.Set(arch.PC, raw&arch.AddrMask())
	return unwind.Found
}

// begun tells whether the function that was called has run: it has saved the return address in a frame record. LuaJIT's
// interpreter jumps to code that was made at run time, with the link register as it was.
func begun(s *stackwalk.State, ra uint64) bool {
	chain := s.Snapshot.Arch.FPChain
	fp, ok := s.Regs.Lookup(s.Snapshot.Arch.FP)
	if chain == nil || !ok || s.Snapshot.Arch.CallPushesRA {
		return false
	}
	saved, ok := s.Snapshot.Memory.Word(fp + uint64(chain.SavedRA))
	return ok && saved == ra
}

// executable tells whether code can run at pc as far as the capture knows.
// Memory of unknown permissions counts as data: what brought the thread there
// decides.
func executable(snap *target.Snapshot, pc uint64) bool {
	if snap.Arch.NeverCode(pc) {
		return false
	}
	if m, ok := snap.ModuleAt(pc); ok {
		return m.Image == nil || m.Image.Segments.Executable(m.ToImage(pc)&m.Image.Arch.AddrMask())
	}
	p, ok := snap.Memory.PermAt(pc)
	return ok && p&target.PermExec != 0
}

// returned tells whether the thread came here by popping this PC, which then still
// stands right below SP. That only counts where the call is direct and thus needs a tail
// jump to explain the PC. With PC = 0 it may be chance: where [SP] is a return address, the walker finds
// out whether the function that was called may have jumped on, to a pointer that was NULL. Processors other
// than x86 and ARM return by a register, LR, which then is the bad address.
func returned(s *stackwalk.State, sp uint64, site *cpu.CallSite) bool {
	arch := s.Snapshot.Arch
	v, ok := s.Snapshot.Memory.Word(sp - uint64(arch.AddrSize))
	pc, _ := arch.SplitCode(v)
	return site.Direct && ok && pc == s.PC && (arch.CallPushesRA && pc != 0 || arch.Name == "arm")
}
