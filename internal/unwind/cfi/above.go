package cfi

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

// lift moves a CFA up that lies at or below the slot of the return address: a function
// saves that register in its own frame, and the frame ends at the CFA. Such a row does not
// count what was on the stack when the function was entered. glibc's resolver on AArch64
// (2.36, _dl_runtime_resolve) is entered with x16 and x30 pushed by the PLT:
//
//	.cfi_rel_offset lr, 8                 CFA = sp, RA = [CFA+8], and SP is CFA+16
//
// As SP is aligned where functions are called, the frame ends at the next aligned address
// above the slot. Where that is further away than one alignment, nothing is known: the
// o32 ABI of MIPS lets a function use 16 bytes of its caller's frame. The context that a
// signal frame has its registers in lies anywhere.
func lift(out *stackwalk.Rule, arch *cpu.Arch) {
	end := out.RA.Off + int64(arch.RegSize)
	by := int64(arch.StackAlign)
	if arch.LR == cpu.NoReg || out.Flags&stackwalk.SignalFrame != 0 || out.CFA.Kind != stackwalk.RegPlus ||
		out.RA.Kind != stackwalk.AtCFA || out.RA.Off < 0 || end > by {
		return
	}
	out.CFA.Off += by
	out.RA.Off -= by
	for i := range out.N {
		if r := &out.Regs[i]; r.Kind == stackwalk.AtCFA || r.Kind == stackwalk.CFAPlus {
			r.Off -= by
		}
	}
}
