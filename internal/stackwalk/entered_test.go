package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestSpliceLostException: the end of a step that an exception entered, and the other end, tell the same, or
// a line of the list was lost. The place behind f's call of g is that of entry code (Yes), or of a function (No).
func TestSpliceLostException(t *testing.T) {
	const g, f = "400208/context/certain/0 ", "400118/cfi/certain/1 "
	for _, c := range []struct {
		name, listed, want string
		leaves             stackwalk.Answer
	}{
		{"entry code interrupted the place", "400208! 400118 400030!", g + f + "400030/prewalked/likely/2", stackwalk.Yes},
		{"entry code was not called: the interrupted place was lost", "400208! 400118 400318", g + f + "400318/prewalked/guess/2", stackwalk.Yes},
		{"a function interrupted nothing: the entry code was lost", "400208! 400118 400030!", g + f + "400030/prewalked/guess/2", stackwalk.No},
		{"a function was called from where a call proves it", "400208! 400118 400018!", g + f + "400018/prewalked/likely/2", stackwalk.No},
		{"… and maybe by way of another elsewhere", "400208! 400118 400318!", g + f + "400318/prewalked/guess/2", stackwalk.No},
		{"the list is right where code does not tell", "400208! 400118 400030!", g + f + "400030/prewalked/likely/2", stackwalk.Unknown},
	} {
		arch := o32()
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Listed = listOf(c.listed)
		opt := stackwalk.Options{CallGraph: graph{holds: sameHundred, leaves: map[uint64]stackwalk.Answer{inF: c.leaves}},
			Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}
		if got, _ := spliced(snap, opt); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestSpliceNowhere: the PC is where no code is. A call through a pointer led there, as h makes one; f's calls g
// directly. main calls f, and the line of h, which f calls, was lost.
func TestSpliceNowhere(t *testing.T) {
	const pc = "10/context/certain/0 "
	toH := func(entry, pc uint64) stackwalk.Answer {
		if entry == gEntry && pc == 0x10 { // a thunk of x86
			return stackwalk.Anywhere
		}
		return sameHundred(entry, pc)
	}
	for _, c := range []struct {
		name, listed, want string
		toH                bool // f calls h in place of g
		graph              graph
	}{
		{"h calls through a pointer", "10! 400318", pc + "400318/prewalked/likely/1", false, graph{holds: sameHundred}},
		{"f does not", "10! 400118 400018.", pc + "400118/prewalked/guess/1 400018/prewalked/likely/2", false, graph{holds: sameHundred}},
		{"f may by way of code that jumps anywhere", "10! 400118 400018.", pc + "400118/prewalked/likely/1 400018/prewalked/likely/2", false, graph{holds: toH}},
		{"h is put back", "10! 400118 400018.", pc + "400318/code/likely/-1 400118/prewalked/likely/1 400018/prewalked/likely/2", true, graph{holds: sameHundred}},
	} {
		arch := o32()
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		if c.toH {
			snap.Modules = []*target.Module{programWith(arch, inF-8, 0x0c000000|hEntry>>2)}
		}
		th := &snap.Threads[0]
		th.Regs, th.Listed = *synth.Regs(arch, map[string]uint64{"pc": 0x10}), listOf(c.listed)
		if got, _ := spliced(snap, stackwalk.Options{CallGraph: c.graph}); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestSpliceSecondChain: f does not call itself. The return address in f stands on both sides of that step: a
// second chain begins there, which may be another processor's as a whole.
func TestSpliceSecondChain(t *testing.T) {
	const inner = "400208/context/certain/0 400118/cfi/certain/1 "
	for listed, want := range map[string]string{
		"400208! 400118 400118 400018.": inner + "400118/prewalked/guess/2 400018/prewalked/guess/3",
		"400208! 400118 400030 400018.": inner + "400018/prewalked/likely/3",
	} {
		arch := o32()
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Listed = listOf(listed)
		opt := stackwalk.Options{CallGraph: graph{holds: sameHundred, unpointed: fEntry}, Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}
		if got, _ := spliced(snap, opt); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
