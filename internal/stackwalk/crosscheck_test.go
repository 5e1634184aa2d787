package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestCrossCheck: g, interrupted in its prologue with a frame of 16 bytes, called by
// f; beside f's return address, the stack holds h's. Whose frame is taken where the
// table and the code differ: certain where they agree, the code's where it outvotes
// the table, else the table's, and never certain.
func TestCrossCheck(t *testing.T) {
	arch := o32()
	at := func(slot int64) stackwalk.RegRule {
		return stackwalk.RegRule{Kind: stackwalk.AtReg, Base: arch.SP, Off: slot}
	}
	const toF, toH, zero = 12, 8, 4
	for _, c := range []struct {
		name        string
		table, code int64 // the slot of the return address
		flags       stackwalk.RuleFlags
		size        int64 // the table's CFA − SP
		begins      int64 // the same where the table's function begins
		want        uint64
		trust       unwind.Trust
	}{
		{"they agree", toF, toF, stackwalk.FromEntry, 16, 0, inF, unwind.Certain},
		{"two derivations from the code agree", toH, toF, stackwalk.FromEntry | stackwalk.Agreed, 16, 0, inF, unwind.Likely},
		{"straight from the entry", toF, toF, stackwalk.Straight, 32, 0, inF, unwind.Likely},
		{"straight from a part that begins with a frame", toF, toH, stackwalk.Straight, 16, 32, inF, unwind.Likely},
		{"the code's call alone goes to g", toH, toF, stackwalk.FromEntry, 16, 0, inF, unwind.Likely},
		{"the table's call alone goes to g", toF, toH, stackwalk.FromEntry, 16, 0, inF, unwind.Likely},
		{"the table's return address is 0", zero, toF, stackwalk.FromEntry, 16, 0, inF, unwind.Certain},
		{"the code's return address is 0: that may be the damage", toF, zero, stackwalk.FromEntry, 16, 0, inF, unwind.Likely},
	} {
		t.Run(c.name, func(t *testing.T) {
			begins := leaf(arch, 0)
			begins.CFA.Off = c.begins
			table := framed(arch, c.size, at(c.table), stackwalk.StartStated)
			table.Start = gEntry
			cfi := rules{method: unwind.MethodCFI, ends: map[uint64]bool{inF: true, inH: true},
				at: map[uint64][]stackwalk.Rule{inG: {table}, gEntry: {begins}}}
			code := rules{method: unwind.MethodCode, known: true,
				at: map[uint64][]stackwalk.Rule{inG: {framed(arch, 16, at(c.code), c.flags)}}}
			snap := stopped(arch, synth.Stack(arch).Zero(8).Words(inH, inF).Zero(64).Place(0x7fff_0000))
			frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{cfi, code}, CallGraph: graph{holds: sameHundred, callee: hEntry}})
			got := pcs(frames)
			if !slices.Equal(got, []uint64{inG, c.want}) || frames[1].Trust != c.trust || frames[0].CFA != 0x7fff_0010 {
				t.Errorf("%#x, want a frame at %#x, %v: %+v", got, c.want, c.trust, frames)
			}
		})
	}
}

// TestDescriptionOfSeveral: one description covers far more than f, and does not begin as a function does: Dart has one for all
// of its text. At f's call of g, too, the code is asked; where it has no rule, the table's frame is not certain.
func TestDescriptionOfSeveral(t *testing.T) {
	arch := o32()
	const begins = fEntry - 1<<20
	size := func(n int64, flags stackwalk.RuleFlags) stackwalk.Rule {
		r := saved(arch, n, flags)
		r.Start = begins
		return r
	}
	for what, c := range map[string]struct {
		code  []stackwalk.Rule
		want  uint64
		trust unwind.Trust
	}{
		"the code has another frame":       {[]stackwalk.Rule{saved(arch, 32, stackwalk.FromEntry|stackwalk.Agreed)}, inMain, unwind.Certain},
		"the code has one side of another": {[]stackwalk.Rule{saved(arch, 32, stackwalk.FromEntry)}, inMain, unwind.Likely},
		"the code has a line to another":   {[]stackwalk.Rule{saved(arch, 32, stackwalk.FromEntry|stackwalk.Straight)}, inMain, unwind.Certain},
		"the code has the table's frame":   {[]stackwalk.Rule{saved(arch, 48, stackwalk.FromEntry|stackwalk.Agreed)}, inH, unwind.Certain},
		"the code has no rule":             {nil, inH, unwind.Likely},
		"the code guesses the table's":     {[]stackwalk.Rule{saved(arch, 48, stackwalk.Agreed)}, inH, unwind.Certain},
		"the code guesses another":         {[]stackwalk.Rule{saved(arch, 32, stackwalk.Agreed)}, inH, unwind.Likely},
	} {
		cfi := rules{method: unwind.MethodCFI, ends: map[uint64]bool{inMain: true, inH: true}, at: map[uint64][]stackwalk.Rule{
			inG: {leaf(arch, 0)}, inF: {size(48, stackwalk.StartStated)}, begins: {size(48, stackwalk.StartStated)}}}
		code := rules{method: unwind.MethodCode, known: true, at: map[uint64][]stackwalk.Rule{inF: c.code}}
		snap := stopped(arch, synth.Stack(arch).Zero(28).Word(inMain).Zero(12).Word(inH).Zero(64).Place(0x7fff_0000))
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{cfi, code}, CallGraph: graph{holds: func(uint64, uint64) stackwalk.Answer { return stackwalk.Yes }, callee: fEntry}})
		if len(frames) != 3 || frames[2].PC != c.want || frames[2].Trust != c.trust {
			t.Errorf("%s: want a frame at %#x, %v: %+v", what, c.want, c.trust, frames)
		}
	}
}
