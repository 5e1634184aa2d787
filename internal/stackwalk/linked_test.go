package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// entered is a source that knows rules from one entry only.
type entered struct {
	rules
	entry uint64
}

func (e entered) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.HasEntry && q.Entry != e.entry {
		return unwind.NotCovered
	}
	return e.rules.Rule(q, out)
}

// TestLinked: the table takes f and g, which f calls, for one function with f's frame. The link
// register says that g was called: the code from g's entry tells the frame in between.
func TestLinked(t *testing.T) {
	arch := o32()
	both := saved(arch, 32, stackwalk.StartStated)
	both.Start = fEntry
	cfi := rules{method: unwind.MethodCFI, ends: map[uint64]bool{inMain: true},
		at: map[uint64][]stackwalk.Rule{inG: {both}, gEntry: {both}, inF: {both}}}
	code := rules{method: unwind.MethodCode, known: true, at: map[uint64][]stackwalk.Rule{inG: {leaf(arch, stackwalk.FromEntry|stackwalk.Agreed)}}}
	for _, tt := range []struct {
		name  string
		entry uint64
		want  []uint64
	}{
		{"from the call's target", gEntry, []uint64{inG, inF, inMain}},
		{"from the table's entry only", fEntry, []uint64{inG, inMain}},
	} {
		snap := stopped(arch, stackOf(arch))
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{cfi, entered{code, tt.entry}}, CallGraph: graph{holds: sameHundred}})
		if got := pcs(frames); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

// TestReturnsByLink: where the next instruction returns by the link register, a table that says
// otherwise is not certain.
func TestReturnsByLink(t *testing.T) {
	arch := o32()
	for _, tt := range []struct {
		insn uint32
		want unwind.Trust
	}{{0, unwind.Certain}, {0x03e00008, unwind.Likely}} { // nop; jr ra
		table := saved(arch, 32, stackwalk.StartStated)
		table.Start = gEntry
		cfi := rules{method: unwind.MethodCFI, ends: map[uint64]bool{inF: true}, at: map[uint64][]stackwalk.Rule{inG: {table}}}
		code := rules{method: unwind.MethodCode}
		snap := stopped(arch, synth.Stack(arch).Zero(28).Word(inF).Zero(64).Place(0x7fff_0000))
		snap.Threads[0].Regs.Set(arch.LR, inH)
		snap.Modules[0] = programWith(arch, inG, tt.insn)
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{cfi, code}, CallGraph: graph{holds: sameHundred}})
		if got := pcs(frames); !slices.Equal(got, []uint64{inG, inF}) || frames[1].Trust != tt.want {
			t.Errorf("%#x: %#x, %v, want %v", tt.insn, got, frames[1].Trust, tt.want)
		}
	}
}
