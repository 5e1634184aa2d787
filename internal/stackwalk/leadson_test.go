package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestLeadsOn: the table and the code put g's frame at different places, and only one of these leads
// to a call of f. That one is taken, even if two derivations from the code agree on the other; the
// table's where both lead on. Where two derivations agree, it is not enough that the table's alone
// is proven: a table that says nothing of g's epilogue leads past g's caller.
func TestLeadsOn(t *testing.T) {
	arch := o32()
	for _, tt := range []struct {
		name            string
		byTable, byCode uint64 // what is where f's return address would lie
		flags           stackwalk.RuleFlags
		cfa, want       uint64
	}{
		{"the table has one row for all of g", 0, inMain, stackwalk.FromEntry, 0x7fff_0090, inMain},
		{"both frames lead on", inMain, inMain, stackwalk.FromEntry, 0x7fff_0000, inMain},
		{"the code missed that g has no frame", inMain, 0, stackwalk.FromEntry | stackwalk.Agreed, 0x7fff_0000, inMain},
		{"a pointer leads to where the code has g's frame", inMain, inH, stackwalk.FromEntry | stackwalk.Agreed, 0x7fff_0090, inH},
	} {
		cfi := tables(arch, unwind.MethodCFI, 0)
		code := rules{method: unwind.MethodCode, at: map[uint64][]stackwalk.Rule{inG: {leaf(arch, tt.flags)}}}
		code.at[inG][0].CFA.Off = 144
		stack := synth.Stack(arch).Zero(28).Word(tt.byTable).Zero(112).Zero(28).Word(tt.byCode).Zero(64).Place(0x7fff_0000)
		frames, _ := walk(stopped(arch, stack), stackwalk.Options{Sources: []stackwalk.Source{cfi, code}, CallGraph: graph{holds: sameHundred}})
		if got := pcs(frames); !slices.Equal(got, []uint64{inG, inF, tt.want}) || frames[0].CFA != tt.cfa || frames[1].Trust == unwind.Certain {
			t.Errorf("%s: %#x, CFA %#x, %s", tt.name, got, frames[0].CFA, frames[1].Trust)
		}
	}
}

// TestOtherSlot: g's return address lay in two slots. One of them holds another now, behind an
// indirect call, from where nothing leads on: so the other one is taken.
func TestOtherSlot(t *testing.T) {
	arch := o32()
	slot := func(off int64, flags stackwalk.RuleFlags) stackwalk.Rule {
		ra := stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: off}
		return framed(arch, 16, ra, flags|stackwalk.FromEntry|stackwalk.Agreed)
	}
	for _, tt := range []struct {
		name  string
		flags stackwalk.RuleFlags
		want  uint64
	}{
		{"two slots held it", stackwalk.SavedTwice, inF},
		{"one slot did, the other answer is another derivation's", 0, inH},
	} {
		code := tables(arch, unwind.MethodCode, stackwalk.FromEntry|stackwalk.Agreed)
		code.at[inG] = []stackwalk.Rule{slot(-8, tt.flags), slot(-4, 0)}
		stack := synth.Stack(arch).Zero(8).Words(inH, inF).Zero(28).Word(inMain).Zero(64).Place(0x7fff_0000)
		frames, _ := walk(stopped(arch, stack), stackwalk.Options{Sources: []stackwalk.Source{code}, CallGraph: graph{holds: sameHundred}})
		if frames[1].PC != tt.want || frames[1].Trust == unwind.Certain {
			t.Errorf("%s: %#x, %s", tt.name, pcs(frames), frames[1].Trust)
		}
	}
}
