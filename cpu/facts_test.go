package cpu_test

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
)

// TestFactsAgree: the facts of a descriptor that say the same from two sides. A
// return address is either pushed by a call, and then lies between SP and the CFA
// on entry, or in LR.
func TestFactsAgree(t *testing.T) {
	for _, a := range backsight.CPUs() {
		pushed := int64(0)
		if a.CallPushesRA {
			pushed = int64(a.AddrSize)
		}
		if a.CallPushesRA != (a.LR == cpu.NoReg) || a.EntryCFA != pushed {
			t.Errorf("%s %s: CallPushesRA %v, LR %d, EntryCFA %d", a.Name, a.ABI, a.CallPushesRA, a.LR, a.EntryCFA)
		}
		if (a.GPBias != 0) != (a.Globals != 0) {
			t.Errorf("%s %s: GPBias %#x without a register that it tells of", a.Name, a.ABI, a.GPBias)
		}
		if a.PCThunk != (a.Name == "i386") {
			t.Errorf("%s: PCThunk %v", a.Name, a.PCThunk)
		}
	}
}

// TestInsnAlignIn: Thumb and MIPS16 have instructions of two bytes, the mode beside
// them has four; Cortex-M knows only Thumb.
func TestInsnAlignIn(t *testing.T) {
	set := backsight.CPUs()
	for _, c := range []struct {
		name, abi string
		mode      cpu.Mode
		want      uint64
	}{
		{"arm", "", 0, 4}, {"arm", "", 1, 2}, {"arm", "cortexm", 1, 2}, {"mips", "o32", 0, 4}, {"mips", "o32", 1, 2},
		{"aarch64", "", 0, 4}, {"x86_64", "", 0, 1},
	} {
		a, ok := set.ByName(c.name, c.abi, false)
		if !ok || a.InsnAlignIn(c.mode) != c.want {
			t.Errorf("%s %s mode %d: %v, not %d", c.name, c.abi, c.mode, ok, c.want)
		}
	}
}
