package device

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// TestRareRegisters: one function of very many is found by rbx, as main is where GCC realigns the
// stack. Where few functions save rbx, it is tracked; where so many do that the table grows, it is not.
func TestRareRegisters(t *testing.T) {
	archs := x86.Archs()
	arch := archs[slices.IndexFunc(archs, func(a *cpu.Arch) bool { return a.Name == "x86_64" })]
	rbx, _ := arch.RegByName("rbx")
	at := func(reg cpu.Reg, off int64) rule.Register {
		return rule.Register{Kind: rule.AtCFA, Reg: reg, Off: off}
	}
	by := func(base cpu.Reg, off int64) rule.Register {
		return rule.Register{Kind: rule.RegPlus, Base: base, Off: off}
	}
	const functions, size = 2000, 64
	code := make([]byte, functions*size)
	for i := range functions {
		copy(code[i*size+20:], []byte{0x31, 0xdb}) // xor ebx, ebx: from there on rbx is in its slot only
	}
	for _, saving := range []int{10, functions} {
		p := &tables.Program{Image: image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: 0x1000, Size: functions * size, Data: code, Exec: true}}}, nil)}
		p.Rules = []tables.Rule{{CFA: by(rbx, 0), RA: at(cpu.NoReg, -8)}, {CFA: by(arch.SP, 8), RA: at(cpu.NoReg, -8)}}
		for k := range 8 { // frames of several sizes, with rbx in different slots
			p.Rules = append(p.Rules, tables.Rule{CFA: by(arch.SP, int64(16*k+16)), RA: at(cpu.NoReg, -8), Regs: []rule.Register{at(rbx, int64(-16-8*k))}},
				tables.Rule{CFA: by(arch.SP, int64(16*k+16)), RA: at(cpu.NoReg, -8)})
		}
		for i := range functions {
			start := uint64(0x1000 + i*size)
			f := tables.Function{Start: start, End: start + size, Rows: []tables.Row{{Addr: start, Rule: 1}, {Addr: start + 9, Rule: 3 + i%8*2}}}
			if i < saving {
				f.Rows = append(f.Rows, tables.Row{Addr: start + 20, Rule: 2 + i%8*2}, tables.Row{Addr: start + 50, Rule: 3 + i%8*2})
			}
			p.Functions = append(p.Functions, f)
		}
		p.Functions[0].Rows = []tables.Row{{Addr: 0x1000, Rule: 1}, {Addr: 0x1010, Rule: 0}}
		if tab := encoded(t, p); slices.Contains(tab.tracked, rbx) != (saving < functions) {
			t.Errorf("%d of %d functions save rbx: tracked are %v", saving, functions, tab.tracked)
		}
	}
}
