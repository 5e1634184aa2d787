// Package exception steps through hardware exception frames. A Cortex-M
// processor takes an exception by pushing eight registers on the interrupted
// stack and setting LR to a magic value, EXC_RETURN; the handler, an ordinary C
// function, "returns" to it:
//
//	handler's frames
//	SP at EXC_RETURN ─► r0 r1 r2 r3 r12 lr pc xpsr        basic frame, 8 words
//	                    s0–s15 fpscr reserved             if EXC_RETURN.FType = 0
//	                    alignment word                    if the stacked xPSR[9] = 1
//	interrupted SP   ─►
//
// The terms are those of the Armv8-M Architecture Reference Manual (DDI 0553,
// B3.19 to B3.22), whose rules contain those of Armv7-M (DDI 0403, B1.5.6 to
// B1.5.8).
package exception

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Source is the stackwalk.FrameSource of exception frames. What it steps out of is
// no frame of its own: the CFA it reports is the address of the hardware's frame,
// which is the CFA of the handler's outermost function too.
type Source struct{}

var (
	_ stackwalk.FrameSource = Source{}
	_ stackwalk.Trampoline  = Source{}
)

// Method is MethodException.
func (Source) Method() unwind.Method { return unwind.MethodException }

// At tells whether pc is an EXC_RETURN of a processor that has them, with or
// without the bit 0 that code addresses lose with the ISA mode.
func (Source) At(s *stackwalk.State, pc uint64, _ cpu.Mode) bool {
	if !cortexm.ExcReturn(pc).Valid() {
		return false
	}
	return s.Snapshot.Arch.Micro() && !inThread(s)
}

// inThread tells whether a frame is in Thread mode, which no exception enters: there an
// EXC_RETURN on the stack is left over. The capture was taken there, or the walk has come there.
func inThread(s *stackwalk.State) bool {
	if s.Base || s.Thread == nil {
		return s.Base
	}
	status, ok := s.Thread.Regs.Lookup(s.Snapshot.Arch.Status)
	return ok && cortexm.ExceptionNumber(status) == 0
}

// Step recovers the interrupted registers. The hardware does not stack r4 to r11:
// their values are those that s.Regs, the state behind the handler's return, has.
func (Source) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	if hasEntries(arch) {
		return stepTrap(s, out)
	}
	if atSavedRegs(s) {
		return unwind.EndOfStack
	}
	if stepKernelRegs(s, out) {
		return unwind.Found
	}
	ret := cortexm.ExcReturn(s.PC)
	if s.PC>>32 != 0 || !ret.Valid() {
		return unwind.NotCovered
	}
	if !arch.Micro() || inThread(s) {
		return unwind.NotCovered
	}
	at, ok := stackPointer(s, ret)
	if !ok {
		return unwind.NotCovered
	}
	*out = stackwalk.Caller{Regs: *s.Regs, CFA: at, HasCFA: true, Exact: true, NotAFrame: true}
	out.Regs.Known &= arch.Preserved
	if ret.Secure() {
		at += cortexm.CalleeRegisters(arch, s.Snapshot.Memory, at, &out.Regs)
	}
	stacked, ok := cortexm.Stacked(arch, s.Snapshot.Memory, at)
	if !ok {
		return unwind.Malformed
	}
	merge(&out.Regs, &stacked)
	status := stacked.Val[arch.Status]
	if !plausible(s.Snapshot, &stacked) {
		return unwind.Malformed
	}
	out.Base = ret.Thread()
	out.Regs.Set(arch.SP, (at+ret.FrameSize(status))&arch.AddrMask())
	return unwind.Found
}

// stackPointer is where the exception frame lies. The process stack pointer is a
// banked register, which the exception leaves alone: it still has the value of
// the capture, if that has it at all.
func stackPointer(s *stackwalk.State, ret cortexm.ExcReturn) (uint64, bool) {
	if !ret.ProcessStack() {
		sp, ok := s.Regs.Lookup(s.Snapshot.Arch.SP)
		return sp, ok
	}
	psp, ok := s.Snapshot.Arch.RegByName("psp")
	if !ok {
		return 0, false
	}
	if v, ok := s.Regs.Lookup(psp); ok || s.Thread == nil {
		return v, ok
	}
	return s.Thread.Regs.Lookup(psp)
}

func merge(regs, more *cpu.Registers) {
	for s := more.Known; s != 0; s = s.Without(s.First()) {
		regs.Set(s.First(), more.Val[s.First()])
	}
}

// plausible tells whether regs may come from an exception frame. Code runs in
// Thumb state, unless the exception is the fault of having left it; then at
// least the PC must be one. A PC outside all code is plausible: a branch there
// is what raises most faults.
func plausible(snap *target.Snapshot, regs *cpu.Registers) bool {
	if cortexm.Thumb(regs.Val[snap.Arch.Status]) {
		return true
	}
	pc := regs.Val[snap.Arch.PC]
	m, ok := snap.ModuleAt(pc)
	return ok && (m.Image == nil || m.Image.Segments.Executable(m.ToImage(pc)))
}
