package debugframe_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/tables/debugframe"
	"github.com/backsight/backsight/tables"
)

// TestProperty: whatever rows a function has, on every processor, both forms say them.
func TestProperty(t *testing.T) {
	for _, arch := range backsight.CPUs() {
		if arch.ELF.Machine == 0 || arch.ModeOnly || arch.Decoder == nil {
			continue
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 40 {
			p := random(r, arch)
			for _, form := range []tables.Format{debugframe.DebugFrame(), debugframe.EHFrame()} {
				var b bytes.Buffer
				if refused, err := form.Write(&b, p); err != nil || len(refused) > 0 {
					t.Fatalf("%v, %s: %v %v", arch, form.Name, refused, err)
				}
				img, err := image.Parse("x.debug", b.Bytes(), []image.Format{elf.Format()}, image.Options{Archs: backsight.CPUs()})
				if err != nil {
					t.Fatalf("%v: %v", arch, err)
				}
				for _, row := range p.Functions[0].Rows {
					readBack(t, img, row.Addr, p.At(row.Addr))
				}
			}
			if t.Failed() {
				t.Fatalf("on %v", arch)
			}
		}
	}
}

// random is a program of one function with random rows.
func random(r *rand.Rand, arch *cpu.Arch) *tables.Program {
	const start = 0x10000
	p := &tables.Program{Image: image.New(image.Header{Path: "x", Arch: arch, BuildID: []byte{1, 2, 3, 4},
		Segments: []image.Segment{{Addr: start, Size: 1 << 24, Exec: true, Read: true}}}, nil)}
	for range 1 + r.IntN(5) {
		p.Rules = append(p.Rules, randomRule(r, arch))
	}
	f := tables.Function{Start: start}
	at := uint64(start)
	for i := range 1 + r.IntN(12) {
		rule := r.IntN(len(p.Rules)+1) - 1
		if i == 0 {
			rule = 0
		}
		f.Rows = append(f.Rows, tables.Row{Addr: at, Rule: rule})
		at += 4 * (1 + r.Uint64N([]uint64{10, 100, 100_000}[r.IntN(3)]))
	}
	f.End = at
	p.Functions = []tables.Function{f}
	return p
}

// randomRule is a rule with slots in the frame, registers in others, values that are lost.
func randomRule(r *rand.Rand, arch *cpu.Arch) tables.Rule {
	word := int64(arch.RegSize)
	base := []cpu.Reg{arch.SP, arch.Preserved.First()}[r.IntN(2)]
	out := tables.Rule{
		CFA: stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: base, Off: word * (r.Int64N(400) - 10)},
		RA:  stackwalk.RegRule{Kind: stackwalk.AtCFA, Off: -word * (1 + r.Int64N(200))},
	}
	switch {
	case r.IntN(8) == 0:
		return tables.Rule{RA: stackwalk.RegRule{Kind: stackwalk.Undefined}}
	case r.IntN(8) == 0:
		return trampoline(r, arch)
	case arch.LR != cpu.NoReg && r.IntN(3) == 0:
		out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: arch.LR}
	}
	for set := arch.Preserved; set != 0; set = set.Without(set.First()) {
		reg := stackwalk.RegRule{Reg: set.First(), Base: cpu.NoReg}
		switch r.IntN(6) {
		case 0:
			reg.Kind, reg.Off = stackwalk.AtCFA, -word*(1+r.Int64N(300))
		case 1:
			reg.Kind, reg.Base, reg.Off = stackwalk.AtReg, base, word*r.Int64N(40)
		case 2:
			reg.Kind = stackwalk.Undefined
		default:
			continue
		}
		out.Regs = append(out.Regs, reg)
	}
	return out
}

// trampoline is the rule of a signal frame, which restores the link register beside the PC.
func trampoline(r *rand.Rand, arch *cpu.Arch) tables.Rule {
	at := func(reg cpu.Reg) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: reg, Base: arch.SP, Off: int64(arch.RegSize) * r.Int64N(200)}
	}
	out := tables.Rule{Flags: stackwalk.SignalFrame, CFA: at(cpu.NoReg), RA: at(cpu.NoReg)}
	if arch.AddrSize < arch.RegSize { // half of a slot, by an expression that is not read back as a slot
		out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: arch.SP}
	}
	set := arch.Preserved
	if arch.LR != cpu.NoReg {
		set = set.With(arch.LR)
	}
	for ; set != 0; set = set.Without(set.First()) {
		out.Regs = append(out.Regs, at(set.First()))
	}
	return out
}

// TestRefused: what DWARF cannot say is left out and named.
func TestRefused(t *testing.T) {
	p := random(rand.New(rand.NewPCG(1, 2)), backsight.CPUs()[0])
	p.Rules = append(p.Rules, tables.Rule{CFA: stackwalk.RegRule{Kind: stackwalk.Constant}})
	f := &p.Functions[0]
	f.Rows = append(f.Rows, tables.Row{Addr: f.End, Rule: len(p.Rules) - 1})
	f.End += 8
	for _, form := range []tables.Format{debugframe.DebugFrame(), debugframe.EHFrame()} {
		var b bytes.Buffer
		refused, err := form.Write(&b, p)
		if err != nil || len(refused) != 1 || refused[0].Addr != f.End-8 || refused[0].Size != 8 || refused[0].Function != f.Symbol() {
			t.Errorf("%v %v", refused, err)
		}
	}
}
