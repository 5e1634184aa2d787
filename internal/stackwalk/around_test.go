package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestAround: the capture says that main runs, further out than g, where the walk ends; main's own caller is known by name.
func TestAround(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	snap.Threads[0].Listed = append(listOf("400208!"), target.Listed{Symbol: "main", PC: mainEntry, Around: true}, target.Listed{Symbol: "loop", Around: true})
	const want = "400208/context/certain/0 0/prewalked/guess/1 0/prewalked/guess/2"
	if got, stop := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred}}); got != want || stop.Reason == unwind.StopRoot {
		t.Errorf("%s, stop %v\nwant %s", got, stop.Reason, want)
	}
}

// TestAroundOfWholeWalks: a walk that reaches the root needs none of it.
func TestAroundOfWholeWalks(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	snap.Threads[0].Listed = append(listOf("400208!"), target.Listed{Symbol: "loop", Around: true})
	want := "400208/context/certain/0 400118/cfi/certain/-1 400018/cfi/certain/-1"
	opt := stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}}
	if got, stop := spliced(snap, opt); got != want || stop.Reason != unwind.StopRoot {
		t.Errorf("%s, stop %v, want %s", got, stop.Reason, want)
	}
}

// TestAroundReached: a walk comes to main by itself, but not to main's caller. Main is not named again.
func TestAroundReached(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	snap.Threads[0].Listed = append(listOf("400208!"), target.Listed{Symbol: "main", PC: mainEntry, Around: true}, target.Listed{Symbol: "loop", Around: true})
	walked := tables(arch, unwind.MethodCFI, 0)
	walked.ends = nil
	want := "400208/context/certain/0 400118/cfi/certain/-1 400018/cfi/certain/-1 0/prewalked/guess/2"
	opt := stackwalk.Options{Sources: []stackwalk.Source{walked}, CallGraph: graph{holds: sameHundred}}
	if got, stop := spliced(snap, opt); got != want || stop.Reason == unwind.StopRoot {
		t.Errorf("%s, stop %v, want %s", got, stop.Reason, want)
	}
}
