package firmware

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/input/regtext"
)

// TestHintOfTwo: registers that fit two families alike tell none.
func TestHintOfTwo(t *testing.T) {
	file := cpu.RegisterFile{Regs: []cpu.RegInfo{{Names: []string{"pc"}}, {Names: []string{"sp"}}, {Names: []string{"fp"}}}}
	one, other := &cpu.Arch{Name: "one", RegSize: 4, RegisterFile: file}, &cpu.Arch{Name: "other", RegSize: 4, RegisterFile: file}
	one.ELF.Machine, other.ELF.Machine = 8, 243
	vals := []regtext.Value{{Name: "pc", Value: 1, Digits: 8}, {Name: "sp", Value: 1, Digits: 8}, {Name: "fp", Value: 1, Digits: 8}}
	if got := Hint(cpu.Set{one, other}, vals); got != nil {
		t.Errorf("%s", got.Name)
	}
	if got := Hint(cpu.Set{one}, vals); got != one {
		t.Errorf("%v", got)
	}
}

// TestHint: three registers tell a processor; one that is printed three times does not.
func TestHint(t *testing.T) {
	arch := &cpu.Arch{Name: "toy", RegSize: 4, RegisterFile: cpu.RegisterFile{
		Regs: []cpu.RegInfo{{Names: []string{"pc"}}, {Names: []string{"sp"}}, {Names: []string{"q7"}}}}}
	value := func(name string) regtext.Value { return regtext.Value{Name: name, Value: 0x1000, Digits: 8} }
	for _, tt := range []struct {
		what string
		vals []regtext.Value
		want *cpu.Arch
	}{
		{"three registers", []regtext.Value{value("pc"), value("sp"), value("q7")}, arch},
		{"two registers", []regtext.Value{value("pc"), value("sp")}, nil},
		{"one register, three times", []regtext.Value{value("pc"), value("pc"), value("pc")}, nil},
	} {
		if got := Hint(cpu.Set{arch}, tt.vals); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}
