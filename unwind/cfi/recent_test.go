package cfi

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/x86"
	"github.com/backsight/backsight/unwind"
)

// A rule that is kept comes back with the function's start; what has no packed form,
// and what another place has put in the slot, does not come back.
func TestRecent(t *testing.T) {
	arch, _ := cpu.Set(x86.Archs()).ByName("x86_64", "", false)
	c := new(recent)
	rule := func(size int64) *unwind.Rule {
		r := new(unwind.Rule)
		r.Reset()
		r.CFA = unwind.RegRule{Kind: unwind.RegPlus, Reg: cpu.NoReg, Base: arch.SP, Off: size}
		r.RA = unwind.RegRule{Kind: unwind.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -8}
		r.Add(unwind.RegRule{Kind: unwind.AtCFA, Reg: arch.FP, Base: cpu.NoReg, Off: -16})
		r.Start, r.Flags = 0x1000, unwind.StartStated
		return r
	}
	var got unwind.Rule
	for pc := uint64(0x1000); pc < 0x1100; pc++ {
		if c.find(arch, pc, &got) {
			t.Fatalf("%#x is there before it was kept", pc)
		}
		want := rule(int64(pc - 0xff8))
		c.keep(arch, pc, want)
		if !c.find(arch, pc, &got) || !got.Equal(want, arch.Preserved) || got.Start != 0x1000 || got.Flags != want.Flags {
			t.Errorf("%#x: %v, want %v", pc, &got, want)
		}
	}
	signal, end := rule(8), rule(8)
	signal.Flags |= unwind.SignalFrame
	end.RA = unwind.RegRule{Kind: unwind.Undefined}
	for pc, r := range map[uint64]*unwind.Rule{0x2000: signal, 0x3000: end} {
		if c.keep(arch, pc, r); c.find(arch, pc, &got) {
			t.Errorf("%#x was kept: %v", pc, r)
		}
	}
}
