package unwind_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestCrossCheck: g, interrupted in its prologue with a frame of 16 bytes, called by
// f; beside f's return address, the stack holds h's. Whose frame is taken where the
// table and the code differ: certain where they agree, the code's where it outvotes
// the table, else the table's, and never certain.
func TestCrossCheck(t *testing.T) {
	arch := o32()
	at := func(slot int64) unwind.RegRule { return unwind.RegRule{Kind: unwind.AtReg, Base: arch.SP, Off: slot} }
	const toF, toH, zero = 12, 8, 4
	for _, c := range []struct {
		name        string
		table, code int64 // the slot of the return address
		flags       unwind.RuleFlags
		size        int64 // the table's CFA − SP
		begins      int64 // the same where the table's function begins
		want        uint64
		trust       unwind.Trust
	}{
		{"they agree", toF, toF, unwind.FromEntry, 16, 0, inF, unwind.Certain},
		{"two derivations from the code agree", toH, toF, unwind.FromEntry | unwind.Agreed, 16, 0, inF, unwind.Likely},
		{"straight from the entry", toF, toF, unwind.Straight, 32, 0, inF, unwind.Likely},
		{"straight from a part that begins with a frame", toF, toH, unwind.Straight, 16, 32, inF, unwind.Likely},
		{"the code's call alone goes to g", toH, toF, unwind.FromEntry, 16, 0, inF, unwind.Likely},
		{"the table's call alone goes to g", toF, toH, unwind.FromEntry, 16, 0, inF, unwind.Likely},
		{"the table's return address is 0", zero, toF, unwind.FromEntry, 16, 0, inF, unwind.Certain},
		{"the code's return address is 0: that may be the damage", toF, zero, unwind.FromEntry, 16, 0, inF, unwind.Likely},
	} {
		t.Run(c.name, func(t *testing.T) {
			begins := leaf(arch, 0)
			begins.CFA.Off = c.begins
			table := framed(arch, c.size, at(c.table), unwind.StartStated)
			table.Start = gEntry
			cfi := rules{method: unwind.MethodCFI, ends: map[uint64]bool{inF: true, inH: true},
				at: map[uint64][]unwind.Rule{inG: {table}, gEntry: {begins}}}
			code := rules{method: unwind.MethodCode, known: true,
				at: map[uint64][]unwind.Rule{inG: {framed(arch, 16, at(c.code), c.flags)}}}
			snap := stopped(arch, synth.Stack(arch).Zero(8).Words(inH, inF).Zero(64).Place(0x7fff_0000))
			frames, _ := walk(snap, unwind.Options{Sources: []unwind.Source{cfi, code}, CallGraph: graph{holds: sameHundred, callee: hEntry}})
			got := pcs(frames)
			if !slices.Equal(got, []uint64{inG, c.want}) || frames[1].Trust != c.trust || frames[0].CFA != 0x7fff_0010 {
				t.Errorf("%#x, want a frame at %#x, %v: %+v", got, c.want, c.trust, frames)
			}
		})
	}
}
