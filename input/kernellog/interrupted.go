package kernellog

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// doubtInterrupted doubts that entries behind the entry code of exceptions are where the exceptions happened, if a call
// stands in front of them. Chains say that of ARM alone, which names the entry code as the callee, and of x86, which
// has the registers of what was interrupted. MIPS reads the entry code's prologue as a function's, and
// lists where the link register pointed instead of the PC:
//
//	[<81b99258>] tlb_do_page_fault_0+0x118/0x120
//	[<c00a506c>] mid_c+0x40/0x54 [crashy]    jalr of leaf_deref stands in front; leaf_deref was running
//
// Elsewhere the line of the interrupted function was lost.
func doubtInterrupted(listed []target.Listed, b *binaries) {
	switch b.arch.Name {
	case "arm", "x86_64", "i386":
		return
	}
	if isRISCV(b.arch) {
		doubtBehindExceptions(listed)
	}
	for i := 1; i < len(listed); i++ {
		if l := &listed[i]; l.Exact && !l.Outermost && !isTrampoline(l.Symbol) && b.behindCall(l.PC) {
			l.Exact, l.Gap = false, true
		}
	}
}

// doubtBehindExceptions doubts what follows an exception within RISC-V's kernel before Linux 6.2: the kernel goes on at
// the frame pointer of the interrupted function, so that the place where that stood is missing, and whether the next
// entry is in that function or in its caller is not known.
//
//	[<ffffffe000203b74>] do_trap_break+0x96/0xfe
//	[<ffffffe000201daa>] ret_from_exception+0x0/0x14
//	[<ffffffe00020452c>] toy_write+0x17e/0x19a            epc was at toy_write+0x182
func doubtBehindExceptions(listed []target.Listed) {
	for i := 1; i < len(listed); i++ {
		if listed[i-1].Symbol == "ret_from_exception" {
			listed[i].Exact, listed[i].Gap = listed[i].Outermost, true
		}
	}
}

// behindCall tells whether a call stands in front of a place in code that is known.
func (b *binaries) behindCall(pc uint64) bool {
	pc, mode := b.arch.SplitCode(pc)
	for _, m := range b.list() {
		if m.Image != nil && m.Contains(pc) && m.Image.Arch.Decoder != nil {
			return isBehindCall(m, pc, mode)
		}
	}
	return false
}

// isBehindCall tells whether a call stands in front of pc in a module whose code is known.
func isBehindCall(m *target.Module, pc uint64, mode cpu.Mode) bool {
	at := m.ToImage(pc)
	_, call := m.Image.Arch.Decoder.CallBefore(m.Image.Segments.Before(at, 16), at, mode)
	return call && m.Image.Segments.Executable(at-1)
}
