package evaluate

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind/rule"
)

// applied runs a rule with sp = 0x1000, lr = 0x400100, s = 0x1010 and u = 7. Memory
// from 0x1000 to 0x1020 holds 0xa0, 0xa4, 0xa8, … at each word.
func applied(r *rule.Rule) (cpu.Registers, Result, Outcome) {
	arch := synth.FiveRegisters()
	var b target.Builder
	data := make([]byte, 0x20)
	for i := 0; i < len(data); i += 4 {
		data[i] = byte(0xa0 + i)
	}
	b.Add(0x1000, data, 0, target.PermRead)
	var in, out cpu.Registers
	in.Set(0, 0x1000)
	in.Set(1, 0x400100)
	in.Set(2, 0x1010)
	in.Set(3, 7)
	res, oc := Rule(arch, r, &in, b.Memory(arch), 0, &out)
	return out, res, oc
}

// ruleFor is CFA=sp+16 RA=lr and one more register.
func ruleFor(rr rule.Register) *rule.Rule {
	var r rule.Rule
	r.Reset()
	r.CFA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: 0, Off: 16}
	r.RA = rule.Register{Kind: rule.SameValue, Reg: cpu.NoReg, Base: 1}
	r.Add(rr)
	return &r
}

// TestRegisterRules: one row per kind, as the rule of s.
func TestRegisterRules(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  rule.Register
		want  uint64
		known bool
	}{
		{"unspecified: preserved by the ABI", rule.Register{Reg: 3, Kind: rule.Constant}, 0x1010, true},
		{"same value", rule.Register{Reg: 2, Kind: rule.SameValue}, 0x1010, true},
		{"undefined", rule.Register{Reg: 2, Kind: rule.Undefined}, 0, false},
		{"[CFA-8]", rule.Register{Reg: 2, Kind: rule.AtCFA, Off: -8}, 0xa8, true},
		{"[CFA-64]: not captured", rule.Register{Reg: 2, Kind: rule.AtCFA, Off: -64}, 0, false},
		{"CFA+4", rule.Register{Reg: 2, Kind: rule.CFAPlus, Off: 4}, 0x1014, true},
		{"[s+4]", rule.Register{Reg: 2, Kind: rule.AtReg, Base: 2, Off: 4}, 0xb4, true},
		{"[s+4]+3", rule.Register{Reg: 2, Kind: rule.AtReg, Base: 2, Off: 4, Add: 3}, 0xb7, true},
		{"u+1", rule.Register{Reg: 2, Kind: rule.RegPlus, Base: 3, Off: 1}, 8, true},
		{"pc+1: not captured", rule.Register{Reg: 2, Kind: rule.RegPlus, Base: 4, Off: 1}, 0, false},
		{"constant", rule.Register{Reg: 2, Kind: rule.Constant, Off: 5}, 5, true},
		{"expression: address CFA−4", rule.Register{Reg: 2, Kind: rule.Expression, Expr: []byte{0x34, 0x1c}}, 0xac, true},
		{"value expression: CFA−4", rule.Register{Reg: 2, Kind: rule.ValExpression, Expr: []byte{0x34, 0x1c}}, 0x100c, true},
		{"a damaged expression", rule.Register{Reg: 2, Kind: rule.ValExpression, Expr: []byte{0xff}}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, res, oc := applied(ruleFor(c.rule))
			v, known := out.Lookup(2)
			if oc != Applied || res.CFA != 0x1010 || res.PC != 0x400100 {
				t.Fatalf("CFA %#x, PC %#x, outcome %d", res.CFA, res.PC, oc)
			}
			if known != c.known || known && v != c.want {
				t.Errorf("%#x, known %v; want %#x, %v", v, known, c.want, c.known)
			}
		})
	}
}

// TestCallerRegisters: SP is the CFA unless a rule says otherwise, PC the return
// address; what nobody preserves is unknown.
func TestCallerRegisters(t *testing.T) {
	out, _, _ := applied(ruleFor(rule.Register{Reg: 2, Kind: rule.SameValue}))
	if out.Known != cpu.SetOf(0, 2, 4) || out.Val[0] != 0x1010 || out.Val[4] != 0x400100 {
		t.Errorf("known %b, SP %#x, PC %#x", out.Known, out.Val[0], out.Val[4])
	}
	if out, _, _ := applied(ruleFor(rule.Register{Reg: 0, Kind: rule.AtReg, Base: 0})); out.Val[0] != 0xa0 {
		t.Errorf("SP %#x, a rule of its own says 0xa0", out.Val[0])
	}
}

// TestOutcomes: what keeps a rule from being applied, and the address of memory
// that is missing.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *rule.Rule)
		want   Outcome
		addr   uint64
	}{
		{"no return address: the end", func(r *rule.Rule) { r.RA.Kind = rule.Undefined }, RuleEnds, 0},
		{"the CFA's register is unknown", func(r *rule.Rule) { r.CFA.Base = 4 }, MissingRegister, 0},
		{"a CFA without a kind", func(r *rule.Rule) { r.CFA.Kind = rule.Unspecified }, MissingRegister, 0},
		{"an undefined CFA", func(r *rule.Rule) { r.CFA.Kind = rule.Undefined }, MissingRegister, 0},
		{"the return address was not captured", func(r *rule.Rule) { r.RA = rule.Register{Kind: rule.AtCFA, Off: 0x100} }, MissingMemory, 0x1110},
		{"the CFA's slot was not captured", func(r *rule.Rule) { r.CFA = rule.Register{Kind: rule.AtReg, Base: 0, Off: -4} }, MissingMemory, 0xffc},
		{"a damaged CFA", func(r *rule.Rule) { r.CFA = rule.Register{Kind: rule.ValExpression, Expr: []byte{0xff}} }, BadExpression, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ruleFor(rule.Register{Reg: 2, Kind: rule.SameValue})
			c.change(r)
			if _, res, oc := applied(r); oc != c.want || res.Addr != c.addr {
				t.Errorf("outcome %d at %#x, want %d at %#x", oc, res.Addr, c.want, c.addr)
			}
		})
	}
}

// TestWraps: sums stay within the ABI's addresses.
func TestWraps(t *testing.T) {
	r := ruleFor(rule.Register{Reg: 2, Kind: rule.SameValue})
	r.CFA.Off = 1 << 40
	r.RA = rule.Register{Kind: rule.Constant, Off: -1}
	if _, res, _ := applied(r); res.CFA != 0x1000 || res.PC != 0xffff_ffff {
		t.Errorf("CFA %#x, PC %#x", res.CFA, res.PC)
	}
}

// TestSignedReturnAddress: only a rule that says so has the code mask applied.
func TestSignedReturnAddress(t *testing.T) {
	arch := synth.FiveRegisters()
	var in, out cpu.Registers
	in.Set(0, 0x1000)
	in.Set(1, 0xabc_00100)
	for _, c := range []struct {
		flags rule.Flags
		want  uint64
	}{{0, 0xbc00100}, {rule.SignedRA, 0x100}} {
		r := ruleFor(rule.Register{Reg: 2, Kind: rule.SameValue})
		r.Flags = c.flags
		arch.AddrSize = 8
		in.Set(1, 0xbc00100)
		if res, _ := Rule(arch, r, &in, new(target.Builder).Memory(arch), 0xfffff, &out); res.PC != c.want {
			t.Errorf("flags %b: PC %#x, want %#x", c.flags, res.PC, c.want)
		}
	}
}
