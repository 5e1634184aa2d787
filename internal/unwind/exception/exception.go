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
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Source is the unwind.FrameSource of exception frames. What it steps out of is
// no frame of its own: the CFA it reports is the address of the hardware's frame,
// which is the CFA of the handler's outermost function too.
type Source struct{}

var (
	_ unwind.FrameSource = Source{}
	_ unwind.Trampoline  = Source{}
)

// Method is MethodException.
func (Source) Method() unwind.Method { return unwind.MethodException }

// At tells whether pc is an EXC_RETURN of a processor that has them, with or
// without the bit 0 that code addresses lose with the ISA mode.
func (Source) At(s *unwind.State, pc uint64, _ cpu.Mode) bool {
	if !excReturn(pc).valid() {
		return false
	}
	_, ok := s.Snapshot.Arch.Layouts[cpu.CortexMFrame]
	return ok
}

// excReturn is an EXC_RETURN payload (DDI 0553 D1.2.78).
type excReturn uint32

const (
	prefix excReturn = 0xffff_ff80 // PREFIX is 0xff, bits 23 to 7 are ones
	zeros  excReturn = 1 << 1
	spsel  excReturn = 1 << 2
	thread excReturn = 1 << 3 // Mode
	ftype  excReturn = 1 << 4 // the frame has no floating-point registers
	secure excReturn = 1 << 6 // S: the secure stack
)

// valid excludes 0xffffffff and 0xfffffffe, which are −1 and the PC of a locked-up
// core.
func (e excReturn) valid() bool { return e&prefix == prefix && e&zeros == 0 }

// processStack tells whether the frame is on the process stack. Handlers always
// use the main stack.
func (e excReturn) processStack() bool { return e&(spsel|thread) == spsel|thread }

const (
	basicFrame    = 8 * 4
	floatingPart  = 18 * 4
	realigned     = 1 << 9  // of the stacked xPSR: four bytes of padding
	thumbState    = 1 << 24 // EPSR.T
	calleeContext = 10 * 4
	// The integrity signature of the additional state context (DDI 0553 B3.19),
	// bit 0 set when there are no floating-point registers.
	signature = 0xfefa_125a
)

// Step recovers the interrupted registers. Those that the hardware does not
// stack, r4 to r11, are what they are in the handler's caller.
func (Source) Step(s *unwind.State, out *unwind.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	ret := excReturn(s.PC)
	if s.PC>>32 != 0 || !ret.valid() {
		return unwind.NotCovered
	}
	layout, ok := arch.Layouts[cpu.CortexMFrame]
	if !ok {
		return unwind.NotCovered
	}
	at, ok := stackPointer(s, ret)
	if !ok {
		return unwind.NotCovered
	}
	*out = unwind.Caller{Regs: *s.Regs, CFA: at, HasCFA: true, Exact: true, NotAFrame: true}
	out.Regs.Known &= arch.Preserved
	if ret&secure != 0 {
		at += calleeRegisters(s.Snapshot.Memory, at, arch, &out.Regs)
	}
	var block [basicFrame]byte
	if s.Snapshot.Memory.Read(at, block[:]) < len(block) {
		return unwind.Malformed
	}
	stacked := arch.Read(layout, block[:])
	merge(&out.Regs, &stacked)
	status := stacked.Val[arch.Status]
	if !plausible(s.Snapshot, &stacked) {
		return unwind.Malformed
	}
	out.Regs.Set(arch.SP, (at+frameSize(ret, status))&arch.AddrMask())
	return unwind.Found
}

// stackPointer is where the exception frame lies. The process stack pointer is a
// banked register, which the exception leaves alone: it still has the value of
// the capture, if that has it at all.
func stackPointer(s *unwind.State, ret excReturn) (uint64, bool) {
	if !ret.processStack() {
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

// frameSize is the size of the frame without the additional state context.
func frameSize(ret excReturn, status uint64) uint64 {
	size := uint64(basicFrame)
	if ret&ftype == 0 {
		size += floatingPart
	}
	if status&realigned != 0 {
		size += 4
	}
	return size
}

// calleeRegisters takes r4 to r11 from the additional state context, which lies
// below the frame of secure code that a non-secure exception interrupted, and
// returns its size: signature, a reserved word, r4–r11. Whether it is there
// follows from EXC_RETURN.ES and DCRS; ES is bit 0, which may be lost with the
// ISA mode, so the signature decides.
func calleeRegisters(mem *target.Memory, at uint64, arch *cpu.Arch, regs *cpu.Registers) uint64 {
	if v, ok := mem.Uint(at, 4); !ok || v&^1 != signature {
		return 0
	}
	slot := at + 2*4
	for s := arch.Preserved; s != 0; s = s.Without(s.First()) {
		if v, ok := mem.Uint(slot, 4); ok {
			regs.Set(s.First(), v)
		}
		slot += 4
	}
	return calleeContext
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
	if regs.Val[snap.Arch.Status]&thumbState != 0 {
		return true
	}
	pc := regs.Val[snap.Arch.PC]
	m, ok := snap.ModuleAt(pc)
	return ok && (m.Image == nil || m.Image.Executable(m.ToImage(pc)))
}
