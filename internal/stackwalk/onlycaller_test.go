package stackwalk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestOnlyCaller: g was called by f, and who called f the stack does not tell: it was not captured there, or
// has a tracer's address. Of all calls of f, those that what was captured contradicts are left out: f was
// called by main, whose frame has 64 bytes, or by h, whose frame has 24.
func TestOnlyCaller(t *testing.T) {
	arch := o32()
	const hook = 0x400480
	const inner, sure = "400208/context/certain/0 400118/cfi/likely/-1", "400208/context/certain/0 400118/cfi/certain/-1"
	none := synth.Stack(arch)
	hooked := func(main, h uint64) *synth.Assembler {
		return synth.Stack(arch).Zero(28).Word(hook).Zero(20).Word(h).Zero(36).Word(main)
	}
	for _, c := range []struct {
		what    string
		callers []uint64
		stack   *synth.Assembler
		want    string
	}{
		{"one call, memory ends", []uint64{inMain}, none, sure + " 400018/cfi/likely/-1"},
		{"two calls, memory ends", []uint64{inMain, inH}, none, sure},
		{"nobody knows all calls", nil, none, sure},
		{"there are more calls than are looked at", append([]uint64{inMain}, slices.Repeat([]uint64{8}, 1<<16)...), none, sure},
		{"one call, hooked", []uint64{inMain}, hooked(hook, 0), inner + " 400018/cfi/likely/-1"},
		{"h's frame does not lie there", []uint64{inMain, inH}, hooked(hook, 0), inner + " 400018/cfi/likely/-1"},
		{"main's frame does not lie there", []uint64{inMain, inH}, hooked(7, hook), inner + " 400318/cfi/likely/-1"},
		{"both may lie there", []uint64{inMain, inH}, hooked(hook, hook), inner},
		{"neither does", []uint64{inMain, inH}, hooked(7, 0), inner},
		{"h's lies there, main's was not captured", []uint64{inMain, inH}, synth.Stack(arch).Zero(28).Word(hook).Zero(20).Word(hook),
			inner + " 400318/cfi/guess/-1"},
	} {
		snap := stopped(arch, c.stack.Place(0x7fff_0000))
		snap.Hooks = []uint64{hook}
		snap.Threads[0].Listed = listOf("400208!")
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain] = nil, []stackwalk.Rule{saved(arch, 64, 0)}
		g := graph{holds: sameHundred}
		if c.callers != nil {
			g.callers = map[uint64][]uint64{fEntry: c.callers}
		}
		opt := stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g}
		if got, _ := spliced(snap, opt); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.what, got, c.want)
		}
		snap.Threads[0].Listed = nil // no report
		if got, _ := spliced(snap, opt); strings.Contains(got, "400018") || strings.Contains(got, "400318") {
			t.Errorf("%s, all of the stack captured: %s", c.what, got)
		}
	}
}

// TestOnlyCallerIsDoubtful: the frame says how it was found.
func TestOnlyCallerIsDoubtful(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	snap.Threads[0].Listed = listOf("400208!")
	g := graph{holds: sameHundred, callers: map[uint64][]uint64{fEntry: {inMain}}}
	w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: g})
	frames, stop := w.Walk(&snap.Threads[0], nil)
	if len(frames) != 3 || stop.Reason != unwind.StopRoot {
		t.Fatalf("%d frames, stop %v", len(frames), stop.Reason)
	}
	if c := frames[2].Checks; c&unwind.OnlyCaller == 0 || c&unwind.Disputed == 0 {
		t.Errorf("checks %v", c)
	}
}

// TestOnlyCallerByArguments: f still holds the 5 that it was passed. Of main and h, who both call f, the one whose call
// passes another number did not; what h passes may be what h was passed itself, and h's callers tell.
func TestOnlyCallerByArguments(t *testing.T) {
	arch := o32()
	a0, _ := arch.RegByName("a0")
	s7, _ := arch.RegByName("s7")
	const sure, hEntry, outer = "400208/context/certain/0 400118/cfi/certain/-1", 0x400300, 0x400418
	number := func(n int64) map[cpu.Reg]stackwalk.Operand {
		return map[cpu.Reg]stackwalk.Operand{a0: {Kind: stackwalk.Number, Off: n}}
	}
	oneMore := map[cpu.Reg]stackwalk.Operand{a0: {Kind: stackwalk.InRegister, Reg: a0, Off: 1}}
	for _, c := range []struct {
		what   string
		passes map[uint64]map[cpu.Reg]stackwalk.Operand
		want   string
	}{
		{"h passes another", map[uint64]map[cpu.Reg]stackwalk.Operand{inMain: number(5), inH: number(6)}, sure + " 400018/cfi/likely/-1"},
		{"what h passes is not known", map[uint64]map[cpu.Reg]stackwalk.Operand{inMain: number(5)},
			"400208/context/certain/0 400118/cfi/likely/-1 400018/cfi/guess/-1"},
		{"both pass it", map[uint64]map[cpu.Reg]stackwalk.Operand{inMain: number(5), inH: number(5)}, sure},
		{"neither does", map[uint64]map[cpu.Reg]stackwalk.Operand{inMain: number(7), inH: number(6)}, sure},
		{"h's caller passes one less", map[uint64]map[cpu.Reg]stackwalk.Operand{inMain: number(7), inH: oneMore, outer: number(4)}, sure + " 400318/cfi/likely/-1"},
		{"h's caller passes another", map[uint64]map[cpu.Reg]stackwalk.Operand{inMain: number(5), inH: oneMore, outer: number(5)}, sure + " 400018/cfi/likely/-1"},
		{"h would have its frame pointer in s7", map[uint64]map[cpu.Reg]stackwalk.Operand{
			inMain: number(5), inH: {s7: {Kind: stackwalk.InRegister, Reg: arch.SP, Off: -40}}}, sure + " 400018/cfi/likely/-1"},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		th := &snap.Threads[0]
		th.Regs.Set(s7, 2)
		th.Listed = listOf("400208!")
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain] = nil, []stackwalk.Rule{saved(arch, 64, 0)}
		g := graph{holds: sameHundred, passes: c.passes}
		g.callers = map[uint64][]uint64{fEntry: {inMain, inH}, hEntry: {outer}}
		g.arguments = map[uint64][]stackwalk.Argument{fEntry: {{Reg: a0, At: stackwalk.Operand{Kind: stackwalk.Number, Off: 5}}}}
		got, _ := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g})
		if !strings.HasPrefix(got+" ", c.want+" ") || c.want == sure && got != sure {
			t.Errorf("%s:\n%s, want\n%s", c.what, got, c.want)
		}
	}
}
