package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestSpliceStale: a search through the stack lists what is left over from calls that have
// returned. An indirect call (of h, at 400318) may lead to a module without code; the direct one
// of f leads to g.
func TestSpliceStale(t *testing.T) {
	const driver = 0x500000
	for _, c := range []struct {
		name, listed, want string
	}{
		{"f may have been called by a pointer", "400208! ?400118 ?400318", "400208/context/certain/0 400118/cfi/certain/1 400318/prewalked/guess/2"},
		{"a module without code is not called by f's call", "500010! ?400118 ?400318 ?400018", "500010/context/certain/0 400318/prewalked/guess/2"},
	} {
		arch := o32()
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Modules = append(snap.Modules, &target.Module{Name: "driver", Range: target.Range{Lo: driver, Hi: driver + 0x1000}})
		th := &snap.Threads[0]
		th.Listed = listOf(c.listed)
		if pc := th.Listed[0].PC; pc >= driver {
			th.Regs = *synth.Regs(arch, map[string]uint64{"pc": pc})
		}
		if got, _ := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}}); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestSplicePointer: h calls through a pointer, and its return address lies on the stack twice. The
// call leads to h itself only where h's address is held somewhere; else one of the two is stale.
func TestSplicePointer(t *testing.T) {
	arch := o32()
	const inner, h = "400208/context/certain/0 400118/cfi/certain/1", 0x400300
	for unpointed, want := range map[uint64]string{
		0: inner + " 400318/prewalked/guess/2 400318/prewalked/guess/3",
		h: inner + " 400318/prewalked/guess/2",
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		th := &snap.Threads[0]
		th.Listed = listOf("?400208! ?400118 ?400318 ?400318")
		if got, _ := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred, unpointed: unpointed}}); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestSplicePointerToDirect: where a line is missing, an entry that is not doubted remains in the
// chain; that f, which no pointer leads to, was called through one is a guess.
func TestSplicePointerToDirect(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	th := &snap.Threads[0]
	th.Listed = listOf("400208! 400118 400318")
	want := "400208/context/certain/0 400118/cfi/certain/1 400318/prewalked/guess/2"
	opt := stackwalk.Options{CallGraph: graph{holds: sameHundred, unpointed: 0x400100},
		Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}
	if got, _ := spliced(snap, opt); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSpliceMisled: the same holds where the call through a pointer cannot lead to the function.
func TestSpliceMisled(t *testing.T) {
	arch := o32()
	for other, trust := range map[[2]uint64]string{{}: "likely", {0x400318, 0x400100}: "guess", {0x400318, 0x400000}: "likely"} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Listed = listOf("400208! 400118 400318")
		want := "400208/context/certain/0 400118/cfi/certain/1 400318/prewalked/" + trust + "/2"
		g := graph{holds: sameHundred, misleads: other}
		if got, _ := spliced(snap, stackwalk.Options{CallGraph: g, Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}); got != want {
			t.Errorf("%#x: %s\nwant %s", other, got, want)
		}
	}
}

// TestSpliceOtherChain: where an entry cannot have called the frame before, and no one lost frame explains that, what
// follows is of another chain, or lacks much.
func TestSpliceOtherChain(t *testing.T) {
	const inner = "400208/context/certain/0 400118/cfi/certain/1 "
	arch := o32()
	for _, c := range []struct {
		what, listed string
		calls        uint64 // what h calls
		want         string
	}{
		{"nobody knows", "400318 -", 0, inner + "400318/prewalked/likely/2 0/prewalked/likely/3"},
		{"main, which calls f", "400318 -", mainEntry, inner + "400018/code/likely/-1 400318/prewalked/likely/2 0/prewalked/likely/3"},
		{"itself, and f nowhere", "400318 400318", hEntry, inner + "400318/prewalked/guess/2 400318/prewalked/guess/3"},
		{"an entry is left out", "400030 - -", 0, inner + "0/prewalked/guess/3 0/prewalked/likely/4"},
		{"two are", "400030 400030 - -", 0, inner + "0/prewalked/guess/4 0/prewalked/guess/5"},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Listed = listOf("400208! 400118 " + c.listed)
		g := graph{holds: sameHundred}
		if c.calls != 0 {
			g.calleeAt = map[uint64]uint64{0x400310: c.calls}
		}
		if got, _ := spliced(snap, stackwalk.Options{CallGraph: g, Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, got, c.want)
		}
	}
}

// TestSpliceLostBehindJump: h's call goes to h itself, which jumps to main, and main calls f: the line of main is lost, and what
// follows h is of the same chain.
func TestSpliceLostBehindJump(t *testing.T) {
	arch := o32()
	for jumps, want := range map[stackwalk.Answer]string{stackwalk.No: "guess", stackwalk.YesByJump: "likely", stackwalk.Unknown: "likely"} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Regs, snap.Threads[0].Listed = cpu.Registers{}, listOf("400118 400318 -")
		holds := func(entry, pc uint64) stackwalk.Answer {
			if entry == hEntry && pc == inMain {
				return jumps
			}
			return sameHundred(entry, pc)
		}
		g := graph{holds: holds, calleeAt: map[uint64]uint64{0x400310: hEntry}, callers: map[uint64][]uint64{fEntry: {inMain, 0x400818}}}
		want := "400118/prewalked/likely/0 400318/prewalked/guess/1 0/prewalked/" + want + "/2"
		if got, _ := spliced(snap, stackwalk.Options{CallGraph: g}); got != want {
			t.Errorf("%v: %s\nwant %s", jumps, got, want)
		}
	}
}

// TestSplicePointerToInterrupted: the same holds for the function that was running.
func TestSplicePointerToInterrupted(t *testing.T) {
	arch := o32()
	const inner, h = "400304/context/certain/0", 0x400300
	for unpointed, want := range map[uint64]string{0: inner + " 400318/prewalked/guess/1", h: inner} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		th := &snap.Threads[0]
		th.Regs, th.Listed = *synth.Regs(arch, map[string]uint64{"pc": 0x400304}), listOf("400304! ?400318")
		if got, _ := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred, unpointed: unpointed}}); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestSpliceStalePair: of two stale return addresses one may fit the other. What is proven to have
// called a guess is no more than that.
func TestSpliceStalePair(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	th := &snap.Threads[0]
	th.Regs, th.Listed = cpu.Registers{}, listOf("?400118 ?400018")
	want := "400118/prewalked/guess/0 400018/prewalked/guess/1"
	if got, _ := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred}}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSpliceGap: where frames may be missing before an entry, that entry is a guess unless code
// proves it; that its call goes elsewhere does not speak against it.
func TestSpliceGap(t *testing.T) {
	arch := o32()
	for _, c := range []struct{ listed, want string }{
		{"400208! 400118 400318", "400208/context/certain/0 400118/cfi/certain/1 400318/prewalked/guess/2"},
		{"400208! 400118 400018", "400208/context/certain/0 400118/cfi/certain/1 400018/prewalked/likely/2"},
		{"400208! 400118 400118", "400208/context/certain/0 400118/cfi/certain/1 400118/prewalked/guess/2"},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		th := &snap.Threads[0]
		th.Listed = listOf(c.listed)
		th.Listed[2].Gap = true
		if got, _ := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}}); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// TestSpliceByConstants: the call of h goes through a register in which constants say what is called,
// as all calls of modules for MIPS do (-mlong-calls). It speaks like a direct call.
func TestSpliceByConstants(t *testing.T) {
	const callInH = 0x400310
	arch := o32()
	for _, c := range []struct {
		what, listed string
		calls        uint64
		want         string
	}{
		{"it may go elsewhere", "400208! 400118 400318", 0x400400, "400208/context/certain/0 400118/cfi/certain/1 400318/prewalked/guess/2"},
		{"it may go to a frame that the list lacks", "400208! 400318.", 0x400100, "400208/context/certain/0 400118/cfi/certain/-1 400318/prewalked/likely/1"},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Listed = listOf(c.listed)
		opt := stackwalk.Options{CallGraph: graph{holds: sameHundred, calleeAt: map[uint64]uint64{callInH: c.calls}},
			Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}
		if got, _ := spliced(snap, opt); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, got, c.want)
		}
	}
}

// TestSplicePutsBackByConstants: f, which the list lacks, is what h calls, and calls g once.
func TestSplicePutsBackByConstants(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	snap.Threads[0].Listed = listOf("400208! 400318.")
	want := "400208/context/certain/0 400118/code/likely/-1 400318/prewalked/likely/1"
	if got, _ := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred, calleeAt: map[uint64]uint64{0x400310: 0x400100}}}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSpliceMissing: no pointer leads to h, and its caller in the list calls through one: lines are
// missing between the two. Neither is stale for that.
func TestSpliceMissing(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	snap.Threads[0].Listed = listOf("400208! 400318 400318.")
	want := "400208/context/certain/0 400318/prewalked/likely/1 400318/prewalked/guess/2"
	if got, _ := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred, unpointed: 0x400300}}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSpliceGaps: what is proven behind a gap stands, whatever may be missing before that.
func TestSpliceGaps(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	th := &snap.Threads[0]
	th.Listed = listOf("400208! 400118 400318 400318")
	th.Listed[2].Gap, th.Listed[3].Gap = true, true
	opt := stackwalk.Options{CallGraph: graph{holds: sameHundred, calleeAt: map[uint64]uint64{0x400310: 0x400300}},
		Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}
	want := "400208/context/certain/0 400118/cfi/certain/1 400318/prewalked/guess/2 400318/prewalked/likely/3"
	if got, _ := spliced(snap, opt); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSplicePointerFromOthers: f, which no pointer of its own module leads to, is called by a function of
// another module, whose code may build f's address.
func TestSplicePointerFromOthers(t *testing.T) {
	const bias = 0x100000
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	snap.Modules = append(snap.Modules, target.NewModule("driver", snap.Modules[0].Image, bias))
	snap.Threads[0].Listed = listOf("400208! 400118 500318")
	want := "400208/context/certain/0 400118/cfi/certain/1 500318/prewalked/likely/2"
	opt := stackwalk.Options{CallGraph: graph{holds: sameHundred, unpointed: 0x400100},
		Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}}
	if got, _ := spliced(snap, opt); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSpliceOtherCaller: a console lost the line of f's caller, main. h, the next entry, calls through a pointer, and
// only calls of main lead to f.
func TestSpliceOtherCaller(t *testing.T) {
	arch := o32()
	const inner = "400208/context/certain/0 400118/cfi/certain/1"
	for caller, want := range map[uint64]string{
		0:        inner + " 400318/prewalked/likely/2",
		0x400118: inner + " 400318/prewalked/guess/2",
		inH:      inner + " 400318/prewalked/likely/2",
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Listed = listOf("400208! 400118 400318")
		g := graph{holds: sameHundred}
		if caller != 0 {
			g.callers = map[uint64][]uint64{fEntry: {inMain, caller}}
		}
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain] = nil, []stackwalk.Rule{saved(arch, 64, 0)}
		if got, _ := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g}); got != want {
			t.Errorf("caller %x: %s\nwant %s", caller, got, want)
		}
	}
}
