package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestToEntry: g was called by f, whose frame of 32 bytes ends where the report's words of the stack do. Calls in main,
// 64 bytes, and in h, 24 bytes, may have led to f; the registers of user space lie so far out that one chain fits.
func TestToEntry(t *testing.T) {
	arch := o32()
	const base, sure = 0xffff_0000, "400208/context/certain/0 400118/cfi/certain/-1"
	const viaMain, viaH = " 400018/cfi/guess/-1", " 400318/cfi/guess/-1"
	both := map[uint64][]uint64{fEntry: {inMain, inH}}
	for _, c := range []struct {
		what    string
		callsTo map[uint64][]uint64
		system  uint64
		entered uint64
		want    string
	}{
		{"main's frame fits", both, mainEntry, base + 32 + 64, sure + viaMain},
		{"h's frame fits", both, hEntry, base + 32 + 24, sure + viaH},
		{"main called h, which called f", map[uint64][]uint64{fEntry: {inMain, inH}, hEntry: {inMain}}, mainEntry, base + 32 + 24 + 64, sure + viaH + viaMain},
		{"main is no system call", both, hEntry, base + 32 + 64, sure},
		{"nothing takes as many bytes", both, mainEntry, base + 32 + 72, sure},
		{"nobody knows calls of f", nil, mainEntry, base + 32 + 64, sure},
		{"the registers' place is not known", both, mainEntry, 0, sure},
		{"there are more calls than are looked at", map[uint64][]uint64{fEntry: append(slices.Repeat([]uint64{inH}, 8192), inMain)}, mainEntry, base + 32 + 64, sure},
		{"… most of which are nowhere in code", map[uint64][]uint64{fEntry: append([]uint64{inMain}, slices.Repeat([]uint64{8}, 1<<16)...)}, mainEntry, base + 32 + 64, sure},
		{"h calls itself", map[uint64][]uint64{fEntry: {inH}, hEntry: {inH}}, mainEntry, base + 32 + 24 + 24, sure},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(base))
		th := &snap.Threads[0]
		th.Listed, th.Entered = listOf("400208!"), c.entered
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain] = nil, []stackwalk.Rule{saved(arch, 64, 0)}
		g := graph{holds: sameHundred, callsTo: c.callsTo, system: []uint64{c.system}}
		if got, stop := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g}); got != c.want || stop.Reason != unwind.StopUnreadable {
			t.Errorf("%s: %v\n%s, want\n%s", c.what, stop.Reason, got, c.want)
		}
	}
}

// TestToEntryByRegisters: a register that f preserves holds a number; main's code may have put another there. If not, the
// number is user space's, who has no address of the kernel.
func TestToEntryByRegisters(t *testing.T) {
	arch := o32()
	s1, _ := arch.RegByName("s1")
	for _, c := range []struct {
		held      uint64
		puts      int64 // 0: nothing
		saved     bool  // f has saved the register, where the report has no words
		unwritten bool  // … and has put nothing there since
		frames    int
	}{
		{5, 5, false, false, 3}, {5, 6, false, false, 2}, {5, 0, false, false, 3}, {0x8100_0000, 0, false, false, 2},
		{5, 6, true, false, 3}, {5, 6, true, true, 2},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0xffff_0000))
		th := &snap.Threads[0]
		th.Regs.Set(s1, c.held)
		th.Listed, th.Entered = []target.Listed{{PC: inG, Exact: true}}, 0xffff_0000+32+64
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain] = nil, []stackwalk.Rule{saved(arch, 64, 0)}
		if f := &rules.at[inF][0]; c.saved {
			f.Regs[0], f.N = stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: s1, Base: cpu.NoReg, Off: -8}, 1
		}
		g := graph{holds: sameHundred, callsTo: map[uint64][]uint64{fEntry: {inMain}}, system: []uint64{mainEntry}, passes: map[uint64]map[cpu.Reg]stackwalk.Operand{}}
		if c.puts != 0 {
			g.passes[inMain] = map[cpu.Reg]stackwalk.Operand{s1: {Kind: stackwalk.Number, Off: c.puts}}
		}
		if c.unwritten {
			g.passes[inF] = map[cpu.Reg]stackwalk.Operand{s1: {Kind: stackwalk.InRegister, Reg: s1}}
		}
		w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g})
		got, _ := w.Walk(th, nil)
		if len(got) != c.frames {
			t.Errorf("%+v: %d frames", c, len(got))
		} else if c.frames == 3 && (got[1].CFA != 0xffff_0000+32 || got[2].CFA != th.Entered) {
			t.Errorf("%+v: f's CFA %#x, main's %#x", c, got[1].CFA, got[2].CFA)
		}
	}
}

// TestToEntryAgrees: main's frame alone takes the bytes up to the registers of user space, and so do those of h and f
// together. Which of them lie there nothing tells; nothing is said of the frames.
func TestToEntryAgrees(t *testing.T) {
	arch := o32()
	for size, frames := range map[int64]int{24 + 32: 2, 24 + 40: 4} {
		snap := stopped(arch, synth.Stack(arch).Place(0xffff_0000))
		th := &snap.Threads[0]
		th.Listed, th.Entered = []target.Listed{{PC: inG, Exact: true}}, 0xffff_0000+32+24+32
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain] = nil, []stackwalk.Rule{saved(arch, size, 0)}
		g := graph{holds: sameHundred, callsTo: map[uint64][]uint64{fEntry: {inMain, inH}, hEntry: {inF}}, system: []uint64{mainEntry, fEntry}}
		w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g})
		if got, _ := w.Walk(th, nil); len(got) != frames {
			t.Errorf("main takes %d bytes: %d frames, want %d", size, len(got), frames)
		}
	}
}

// TestToEntryByMarks: the report lists a frame further out, behind lines that were lost; of the chains that take exactly the
// bytes up to the registers of user space only those are taken that have that frame.
func TestToEntryByMarks(t *testing.T) {
	arch := o32()
	const base, sure = 0xffff_0000, "400208/context/certain/0 400118/cfi/certain/-1"
	const listedH, main = " 400318/prewalked/guess/1", " 400018/cfi/guess/-1"
	for _, c := range []struct {
		what, listed string
		callsTo      map[uint64][]uint64
		entered      uint64
		want         string
	}{
		{"h called f, and main h", "400208! 400318", map[uint64][]uint64{fEntry: {inMain, inH}, hEntry: {inMain}}, base + 32 + 24 + 64, sure + listedH + main},
		{"main called f, and h main", "400208! 400318", map[uint64][]uint64{fEntry: {inMain}, mainEntry: {inH}}, base + 32 + 64 + 24, sure + main + listedH},
		{"… and the entry is listed", "400208! 400318 400418.", map[uint64][]uint64{fEntry: {inMain}, mainEntry: {inH}}, base + 32 + 64 + 24,
			sure + main + listedH + " 400418/prewalked/guess/2"},
		{"main alone would fit, but a module without code is listed", "400208! 900018", map[uint64][]uint64{fEntry: {inMain}}, base + 32 + 64, sure + " 900018/prewalked/guess/1"},
		{"main alone would fit, but h is listed", "400208! 400318", map[uint64][]uint64{fEntry: {inMain, inH}}, base + 32 + 64, sure + listedH},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(base))
		th := &snap.Threads[0]
		th.Listed, th.Entered = listOf(c.listed), c.entered
		th.Listed[1].Gap = true
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain] = nil, []stackwalk.Rule{saved(arch, 64, 0)}
		g := graph{holds: sameHundred, callsTo: c.callsTo, system: []uint64{mainEntry, hEntry}}
		if got, _ := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g}); got != c.want {
			t.Errorf("%s: %s, want\n%s", c.what, got, c.want)
		}
	}
}

// TestToEntrySeveral: main and h, whose frames are of one size, may have called f. If both are system calls, the one with the
// lower number is taken, and the frame says that another fits as well.
func TestToEntrySeveral(t *testing.T) {
	arch := o32()
	for _, c := range []struct {
		system []uint64 // by number
		pc     uint64
		check  unwind.Checks
	}{
		{[]uint64{hEntry, mainEntry}, inH, unwind.SeveralFit},
		{[]uint64{mainEntry, hEntry}, inMain, unwind.SeveralFit},
		{[]uint64{0, mainEntry}, inMain, unwind.OnlyCaller},
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0xffff_0000))
		th := &snap.Threads[0]
		th.Listed, th.Entered = []target.Listed{{PC: inG, Exact: true}}, 0xffff_0000+32+64
		rules := tables(arch, unwind.MethodCFI, 0)
		rules.ends, rules.at[inMain], rules.at[inH] = nil, []stackwalk.Rule{saved(arch, 64, 0)}, []stackwalk.Rule{saved(arch, 64, 0)}
		g := graph{holds: sameHundred, callsTo: map[uint64][]uint64{fEntry: {inMain, inH}}, system: c.system}
		got, _ := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{rules}, CallGraph: g}).Walk(th, nil)
		if n := len(got); n != 3 || got[2].PC != c.pc || got[2].Trust != unwind.Guess || got[2].Checks&(unwind.SeveralFit|unwind.OnlyCaller) != c.check {
			t.Errorf("%#x: %d frames, %+v", c.system, n, got[n-1])
		}
	}
}
