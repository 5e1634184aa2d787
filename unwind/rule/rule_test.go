package rule

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth"
)

// ruleFor is CFA=sp+16 RA=lr and one more register.
func ruleFor(rr Register) *Rule {
	var r Rule
	r.Reset()
	r.CFA = Register{Kind: RegPlus, Reg: cpu.NoReg, Base: 0, Off: 16}
	r.RA = Register{Kind: SameValue, Reg: cpu.NoReg, Base: 1}
	r.Add(rr)
	return &r
}

// TestRuleText: how people read a rule.
func TestRuleText(t *testing.T) {
	arch := synth.FiveRegisters()
	r := ruleFor(Register{Reg: 2, Kind: AtCFA, Off: -8})
	for _, rr := range []Register{
		{Reg: 3, Kind: Undefined}, {Reg: 0, Kind: CFAPlus, Off: 4}, {Reg: 1, Kind: AtReg, Base: 0, Off: 4, Add: -2},
		{Reg: 4, Kind: RegPlus, Base: 2, Off: -1}, {Reg: 2, Kind: SameValue}, {Reg: 2, Kind: Constant, Off: 16},
		{Reg: 2, Kind: Expression}, {Reg: 2, Kind: ValExpression}, {Reg: 2},
	} {
		r.Add(rr)
	}
	const want = "CFA=sp+16 RA=lr s=[CFA-8] u=undefined sp=CFA+4 lr=[sp+4]-2 pc=s-1 s=same s=0x10 s=[expression] s=expression s=?"
	if got := r.Format(arch); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestEqual: rules are equal when they recover the same, whatever they call it.
func TestEqual(t *testing.T) {
	set := cpu.SetOf(2)
	a, b := ruleFor(Register{Reg: 2, Kind: SameValue}), ruleFor(Register{Reg: 3, Kind: Undefined})
	if !a.Equal(b, set) {
		t.Error("same value and nothing said are the same")
	}
	for _, rr := range []Register{{Reg: 2, Kind: AtCFA}, {Reg: 2, Kind: Undefined}, {Reg: 2, Kind: RegPlus, Base: 1}, {Reg: 2, Kind: Expression}} {
		if a.Equal(ruleFor(rr), set) {
			t.Errorf("%+v is not the same value", rr)
		}
	}
	for range cpu.MaxRegs + 5 {
		a.Add(Register{Reg: 3})
	}
	if a.N != cpu.MaxRegs {
		t.Errorf("%d rules in a rule", a.N)
	}
}
