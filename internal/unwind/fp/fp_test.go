package fp

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

const stackAt = 0x7fff_0000

// TestRule: the rule finds the caller in a stack with frame records, on each CPU that keeps them.
func TestRule(t *testing.T) {
	for _, c := range []struct {
		name     string
		arch     *cpu.Arch
		stack    func(*synth.Assembler) *synth.Assembler
		fallback bool
	}{
		{"x86_64", x86.Archs()[0], func(s *synth.Assembler) *synth.Assembler {
			return s.Word(1).Label("fp").Ref("caller", 0).Word(0x400100).Label("cfa").Word(2)
		}, false},
		{"i386", x86.Archs()[1], func(s *synth.Assembler) *synth.Assembler {
			return s.Word(1).Label("fp").Ref("caller", 0).Word(0x400100).Label("cfa").Word(2)
		}, false},
		{"riscv64", riscv.Archs()[0], func(s *synth.Assembler) *synth.Assembler {
			return s.Word(1).Ref("caller", 0).Word(0x400100).Label("fp").Label("cfa").Word(2)
		}, false},
		{"aarch64, CFA is a bound", arm64.Archs()[0], func(s *synth.Assembler) *synth.Assembler {
			return s.Label("fp").Ref("caller", 0).Word(0x400100).Label("cfa").Words(19, 20, 0, 0)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := c.arch
			stack := c.stack(synth.Stack(a)).Label("caller").Words(0, 0).Place(stackAt)
			snap := synth.Capture(a, nil, stack)
			var in, out cpu.Registers
			for r := range a.Regs {
				in.Set(cpu.Reg(r), 7)
			}
			in.Set(a.FP, stack.Addr("fp"))

			var rule stackwalk.Rule
			rule.Reset()
			if v := (Source{}).Rule(&stackwalk.Query{Arch: a}, &rule); v != unwind.Found {
				t.Fatal(v)
			}
			res, oc := evaluate.Rule(a, &rule, &in, snap.Memory, 0, &out)
			if oc != evaluate.Applied {
				t.Fatal(oc)
			}
			if res.PC != 0x400100 || res.CFA != stack.Addr("cfa") || out.Val[a.FP] != stack.Addr("caller") {
				t.Errorf("pc %#x cfa %#x fp %#x", res.PC, res.CFA, out.Val[a.FP])
			}
			if want := cpu.SetOf(a.PC, a.SP, a.FP); out.Known != want {
				t.Errorf("known registers %x, want %x", out.Known, want)
			}
			if got := rule.Flags&stackwalk.Fallback != 0; got != c.fallback {
				t.Error("fallback:", got)
			}
		})
	}
}

// In the topmost frame FP may be the caller's: `push %rbp` has not run yet.
func TestNoRule(t *testing.T) {
	x := x86.Archs()[0]
	for name, q := range map[string]stackwalk.Query{
		"exact frame":        {Arch: x, Exact: true},
		"second answer":      {Arch: x, Try: 1},
		"CPU without record": {Arch: mips.Archs()[0]},
	} {
		if v := (Source{}).Rule(&q, new(stackwalk.Rule)); v != unwind.NotCovered {
			t.Error(name, v)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add(uint8(0), uint64(stackAt), make([]byte, 64))
	f.Add(uint8(2), ^uint64(0), []byte{})
	archs := append(append(x86.Archs(), arm64.Archs()...), riscv.Archs()...)
	f.Fuzz(func(t *testing.T, n uint8, fp uint64, data []byte) {
		a := archs[int(n)%len(archs)]
		snap := synth.Capture(a, nil, synth.Placed{Base: stackAt, Data: data})
		var in, out cpu.Registers
		in.Set(a.FP, fp)
		var rule stackwalk.Rule
		rule.Reset()
		if v := (Source{}).Rule(&stackwalk.Query{Arch: a}, &rule); v != unwind.Found {
			t.Fatal(v)
		}
		evaluate.Rule(a, &rule, &in, snap.Memory, 0, &out)
	})
}
