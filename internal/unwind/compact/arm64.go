package compact

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Modes of arm64 (UNWIND_ARM64_MODE_*).
const (
	arm64Frameless = 2
	arm64DWARF     = 3
	arm64Frame     = 4
)

// decodeARM64 reads an encoding of arm64. Whether the return address is signed it does not say
// (arm64e signs all): stripping an address that has no signature changes nothing.
func decodeARM64(f *function, e compactunwind.Encoding) unwind.Verdict {
	switch e.Mode() {
	case arm64Frame:
		f.cfa(f.arch.FP, 16)
		f.saved(cpu.NoReg, -8)
		f.saved(f.arch.FP, -16)
		f.pairs(uint32(e), -16)
	case arm64Frameless:
		f.cfa(f.arch.SP, int64(e>>12&0xfff)*16)
		f.out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: f.arch.LR}
		f.pairs(uint32(e), 0)
	default:
		return unwind.NotCovered
	}
	f.out.Flags |= stackwalk.SignedRA
	return unwind.Found
}

// pairs are the saved registers below an offset from the CFA, the highest first: x19 and x20 if
// bit 0 is set, up to x27 and x28 with bit 4. Pairs of floating-point registers lie below.
func (f *function) pairs(e uint32, below int64) {
	x19, _ := f.arch.RegByName("x19")
	for i := range cpu.Reg(5) {
		if e>>i&1 == 0 {
			continue
		}
		f.saved(x19+2*i, below-8)
		f.saved(x19+2*i+1, below-16)
		below -= 16
	}
}
