package compact

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/unwind"
)

// Modes of 32-bit ARM (UNWIND_ARM_MODE_*), which watchOS has; iOS had no compact unwind before
// arm64.
const (
	armFrame  = 1
	armFrameD = 2 // floating-point registers are saved, too
)

// decodeARM reads an encoding of 32-bit ARM. The frame pointer is r7, below the return address.
// Bits 22 and 23 say how many words of arguments in registers were pushed before that. Below the
// frame pointer lie the registers that are saved, from the highest down: r6 to r4 by bits 2 to 0,
// which the first push saves, then r12 to r8 by bits 7 to 3. Floating-point registers lie below.
// (LLVM's ARMAsmBackend.cpp, generateCompactUnwindEncoding, writes them.)
func decodeARM(f *function, e compactunwind.Encoding) unwind.Verdict {
	if m := e.Mode(); m != armFrame && m != armFrameD {
		return unwind.NotCovered
	}
	const word = 4
	r7, ok := f.arch.RegByName("r7")
	if !ok {
		return unwind.NotCovered
	}
	arguments := int64(e>>22&3) * word
	f.cfa(r7, 2*word+arguments)
	at := -arguments - word
	f.saved(cpu.NoReg, at)
	at -= word
	f.saved(r7, at)
	for _, s := range [...]struct {
		bit  uint
		name string
	}{{2, "r6"}, {1, "r5"}, {0, "r4"}, {7, "r12"}, {6, "r11"}, {5, "r10"}, {4, "r9"}, {3, "r8"}} {
		if e>>s.bit&1 == 0 {
			continue
		}
		at -= word
		if r, ok := f.arch.RegByName(s.name); ok {
			f.saved(r, at)
		}
	}
	return unwind.Found
}
