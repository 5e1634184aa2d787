package rules

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// rule makes rules from their parts.
func rule(cfa, ra stackwalk.RegRule, regs ...stackwalk.RegRule) *stackwalk.Rule {
	var r stackwalk.Rule
	r.Reset()
	r.CFA, r.RA = cfa, ra
	for _, rr := range regs {
		r.Add(rr)
	}
	return &r
}

// TestCompare: rules over the same registers compare by their offsets, others by what the
// code up to the place makes of their registers.
func TestCompare(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "x86_64", Listing: `
	1000 <f>:
		1000: 55                    push %rbp
		1001: 48 89 e5              mov  %rsp,%rbp
		1004: 53                    push %rbx
		1005: 48 8b 5f 08           mov  8(%rdi),%rbx
		1009: 48 8b 5d f8           mov  -8(%rbp),%rbx
		100d: c9                    leave
		100e: c3                    ret`})
	a := an.Arch
	rbx, _ := a.RegByName("rbx")
	sp := func(off int64) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: a.SP, Off: off}
	}
	fp := func(off int64) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: a.FP, Off: off}
	}
	slot := func(r cpu.Reg, off int64) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: r, Base: cpu.NoReg, Off: off}
	}
	ra, savedFP, savedRBX := slot(cpu.NoReg, -8), slot(a.FP, -16), slot(rbx, -24)
	const yes, no, unknown = stackwalk.Yes, stackwalk.No, stackwalk.Unknown
	for _, tt := range []struct {
		name string
		a, b *stackwalk.Rule
		want Relation
	}{
		{"the same text", rule(sp(24), ra, savedFP, savedRBX), rule(sp(24), ra, savedFP, savedRBX), Relation{yes, yes, yes}},
		{"other offsets", rule(sp(24), ra), rule(sp(16), ra), Relation{no, no, no}},
		{"rsp+24 and rbp+16", rule(sp(24), ra, savedFP, savedRBX), rule(fp(16), ra, savedFP, savedRBX), Relation{yes, yes, yes}},
		{"rsp+24 and rbp+8", rule(sp(24), ra, savedFP), rule(fp(8), ra, savedFP), Relation{CFA: no, RA: yes, Regs: yes}},
		{"the return address in another slot", rule(sp(24), ra, savedFP), rule(sp(24), slot(cpu.NoReg, -16), savedFP), Relation{yes, no, yes}},
		{"rbp saved elsewhere", rule(sp(24), ra, savedFP), rule(sp(24), ra, slot(a.FP, -24)), Relation{yes, yes, no}},
		{"a slot given by rbp", rule(fp(16), ra, savedFP), rule(fp(16), ra, stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: a.FP, Base: a.FP}), Relation{yes, yes, yes}},
		{"rbx saved, and left alone though overwritten", rule(sp(24), ra, savedFP, savedRBX), rule(sp(24), ra, savedFP), Relation{yes, yes, no}},
		{"a register that holds nothing of the frame", rule(sp(24), ra, savedFP), rule(stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: rbx, Off: 8}, ra, savedFP), Relation{unknown, yes, yes}},
	} {
		if got := Compare(an, exact(an, 0x1009), 0x1000, tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
		if got := Compare(an, exact(an, 0x1009), 0x1000, tt.b, tt.a); got != tt.want {
			t.Errorf("%s, the other way round: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
