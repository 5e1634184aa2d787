package exception

import (
	"github.com/backsight/backsight/internal/stackwalk"
)

// Linux for i386 keeps the registers of code of its own that an exception interrupted where SP is when the entry code
// calls C, in a struct pt_regs like that of user space. The processor pushes no SP where the privilege stays; since Linux 5.5
// the entry code makes room for it, marks CS, and puts the processor's three words back on the interrupted stack before the
// iret (arch/x86/entry/entry_32.S, FIXUP_FRAME and IRET_FRAME): the way out tells nothing of where these come from.
//
//	SP ─► bx cx dx si di bp ax … orig_ax
//	      ip  0x20000060  flags  sp  0x68
const (
	regsIP, regsCS, regsFlags, regsSP, regsSS = 12, 13, 14, 15, 16 // words of struct pt_regs

	kernelCS, kernelDS = 0x60, 0x68 // arch/x86/include/asm/segment.h
	fromKernel         = 1 << 29    // CS_FROM_KERNEL
	alwaysSet          = 1 << 1     // of the flags (SDM volume 1, 3.4.3)
)

// stepKernelRegs recovers the registers of interrupted code of the kernel; false where none lie at SP.
func stepKernelRegs(s *stackwalk.State, out *stackwalk.Caller) bool {
	arch := s.Snapshot.Arch
	sp, ok := s.Regs.Lookup(arch.SP)
	if arch.Name != "i386" || s.Snapshot.OS != "Linux" || s.Thread == nil || s.Exact || !ok {
		return false
	}
	var words [regsSS + 1]uint64
	for i := range words {
		if words[i], ok = s.Snapshot.Memory.Word(sp + uint64(i*arch.RegSize)); !ok {
			return false
		}
	}
	marked := words[regsCS]&(0xffff|fromKernel) == kernelCS|fromKernel && words[regsSS] == kernelDS && words[regsFlags]&alwaysSet != 0
	if !marked || words[regsSP] <= sp || !s.Thread.Stack.Contains(words[regsSP]) || !isCode(s, words[regsIP]) {
		return false
	}
	*out = stackwalk.Caller{CFA: words[regsSP], HasCFA: true, Exact: true}
	for i, name := range [...]string{"ebx", "ecx", "edx", "esi", "edi", "ebp", "eax"} {
		if r, ok := arch.RegByName(name); ok {
			out.Regs.Set(r, words[i])
		}
	}
	out.Regs.Set(arch.PC, words[regsIP])
	out.Regs.Set(arch.SP, words[regsSP])
	return true
}
