package packed_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/unwind/rule"
)

// TestPack: a rule that has a packed form comes out of it, and out of a file, as it
// went in; one that names slots by a register comes out with the CFA's offsets.
func TestPack(t *testing.T) {
	i386, rv, a32 := named(x86.Archs(), "i386"), named(riscv.Archs(), "riscv64"), named(arm.Archs(), "arm")
	at := func(off int64) rule.Register { return rule.Register{Kind: rule.AtCFA, Base: cpu.NoReg, Off: off} }
	by := func(kind rule.Kind, base cpu.Reg, off int64) rule.Register {
		return rule.Register{Kind: kind, Base: base, Off: off}
	}
	plus := func(base cpu.Reg, off int64) rule.Register { return by(rule.RegPlus, base, off) }
	none := rule.Register{Kind: rule.Undefined, Base: cpu.NoReg}
	type saves map[string]rule.Register
	for _, c := range []struct {
		name    string
		arch    *cpu.Arch
		cfa, ra rule.Register
		regs    saves
		want    string // "": there is none
	}{
		{"saved below the CFA", rv, plus(rv.SP, 64), at(-8), saves{"s0": at(-16)}, "CFA=sp+64 RA=[CFA-8] s0=[CFA-16]"},
		{"saved above SP", rv, plus(rv.SP, 64), by(rule.AtReg, rv.SP, 56), saves{"s0": by(rule.AtReg, rv.SP, 48)}, "CFA=sp+64 RA=[CFA-8] s0=[CFA-16]"},
		{"a leaf", rv, plus(rv.SP, 0), plus(rv.LR, 0), nil, "CFA=sp RA=ra"},
		{"lost: what calls main saves nothing that it does not need", a32, plus(a32.SP, 24), at(-4), saves{"r4": none, "r7": at(-12), "r11": at(-8)},
			"CFA=sp+24 RA=[CFA-4] r4=undefined r7=[CFA-12] r11=[CFA-8]"},
		{"main of i386, realigned: esp lies beside the registers", i386, by(rule.AtReg, i386.SP, 24), at(-4),
			saves{"ebx": by(rule.AtReg, i386.SP, 28), "ebp": by(rule.AtReg, i386.SP, 40)}, "CFA=[esp+24] RA=[CFA-4] ebx=[esp+28] ebp=[esp+40]"},
		{"loaded, registers below the CFA", i386, by(rule.AtReg, i386.SP, 24), at(-4), saves{"ebx": at(-8)}, "CFA=[esp+24] RA=[CFA-4] ebx=[CFA-8]"},
		{"both ways", i386, by(rule.AtReg, i386.SP, 24), at(-4), saves{"ebx": at(-8), "ebp": by(rule.AtReg, i386.SP, 40)}, ""},
		{"14 words apart", rv, plus(rv.SP, 200), at(-8), saves{"s0": at(-120)}, "CFA=sp+200 RA=[CFA-8] s0=[CFA-120]"},
		{"15 words apart", rv, plus(rv.SP, 200), at(-8), saves{"s0": at(-128)}, ""},
		{"in another register", i386, plus(i386.SP, 4), at(-4), saves{"edi": plus(i386.SP, 0)}, ""},
		{"within a word", rv, plus(rv.SP, 64), at(-12), nil, ""},
		{"the end", rv, plus(rv.SP, 64), none, saves{"s0": at(-128)}, "CFA=? RA=undefined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rule.Rule{CFA: c.cfa, RA: c.ra}
			for n, saved := range c.regs {
				saved.Reg, _ = c.arch.RegByName(n)
				r.Add(saved)
			}
			p, ok := packed.Of(c.arch, &r)
			if ok != (c.want != "") {
				t.Fatalf("packed: %v", ok)
			}
			if !ok {
				return
			}
			var out rule.Rule
			packed.Read((*[packed.Size]byte)(p.Append(nil))).Unpack(c.arch, &out)
			if got := out.Format(c.arch); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func named(archs []*cpu.Arch, name string) *cpu.Arch {
	for _, a := range archs {
		if a.Name == name {
			return a
		}
	}
	panic("no " + name)
}
