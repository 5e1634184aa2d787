package synth

import "github.com/backsight/backsight/cpu"

// FiveRegisters is a processor for tests of rules: sp (0), lr (1), s (2), which functions
// preserve, u (3), which none preserves, and pc (4), of four bytes each. It has no decoder.
func FiveRegisters() *cpu.Arch {
	return &cpu.Arch{
		AddrSize: 4, RegSize: 4,
		RegisterFile: cpu.RegisterFile{
			SP: 0, LR: 1, PC: 4, FP: cpu.NoReg,
			Regs: []cpu.RegInfo{{Names: []string{"sp"}}, {Names: []string{"lr"}}, {Names: []string{"s"}}, {Names: []string{"u"}}, {Names: []string{"pc"}}},
		},
		Convention: cpu.Convention{Preserved: cpu.SetOf(2)},
	}
}
