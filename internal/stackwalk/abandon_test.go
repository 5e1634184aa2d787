package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// TestAbandonedFrame: f calls __builtin_eh_return, so that its table says where a0 lies, and has
// already written the registers of a frame further out over those it saved. Nothing found from
// there is certain, nor is what the table says of g, should g itself be about to leave.
func TestAbandonedFrame(t *testing.T) {
	arch := o32()
	a0, _ := arch.RegByName("a0")
	s0, _ := arch.RegByName("s0")
	for _, tt := range []struct {
		name     string
		keeps    cpu.Reg // what the table has in f's frame
		abandons uint64
		disputed [2]bool // the frames of f and main
	}{
		{"f returns to main", a0, 0, [2]bool{}},
		{"f goes on further out", a0, inF, [2]bool{false, true}},
		{"no table of such a function", s0, inF, [2]bool{}},
		{"g goes on further out", a0, inG, [2]bool{true, false}},
	} {
		table := tables(arch, unwind.MethodCFI, stackwalk.StartStated)
		table.at[inF][0].Add(stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: tt.keeps, Base: cpu.NoReg, Off: -8})
		frames, _ := walk(stopped(arch, stackOf(arch)), stackwalk.Options{CallGraph: graph{holds: sameHundred, abandons: tt.abandons},
			Sources: []stackwalk.Source{rules{method: unwind.MethodCode}, table}})
		for i, want := range tt.disputed {
			if f := frames[i+1]; f.Checks&unwind.Disputed != 0 != want || want && f.Trust == unwind.Certain {
				t.Errorf("%s: frame %d: %s, %s", tt.name, i+1, f.Checks, f.Trust)
			}
		}
	}
}
