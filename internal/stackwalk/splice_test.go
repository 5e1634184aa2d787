package stackwalk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/chain"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// listOf makes a list of frames: "400118" is a return address, "!" behind where a frame stands
// itself, "?" before what the capture doubts, "." behind the outermost, "-" a name alone.
func listOf(list string) (out []target.Listed) {
	for _, s := range strings.Fields(list) {
		l := target.Listed{Symbol: s, Doubtful: strings.HasPrefix(s, "?"), Exact: strings.Contains(s, "!"), Outermost: strings.HasSuffix(s, ".")}
		if s != "-" {
			_, _ = fmt.Sscanf(strings.Trim(s, "?!."), "%x", &l.PC)
		}
		out = append(out, l)
	}
	return out
}

// described are frames, one a word: PC, method, trust, and their entries in the list.
func described(frames []unwind.Frame, entries []int) string {
	var out []string
	for i, f := range frames {
		out = append(out, fmt.Sprintf("%x/%v/%v/%d", f.PC, f.Method, f.Trust, entries[i]))
	}
	return strings.Join(out, " ")
}

// spliced are the frames of the first thread, walked and completed by its list.
func spliced(snap *target.Snapshot, opt stackwalk.Options) (string, unwind.Stop) {
	w, th := stackwalk.NewWalker(snap, opt), &snap.Threads[0]
	frames, stop := w.Walk(th, nil)
	frames, entries, stop := chain.Splice(snap, &opt, th, frames, stop)
	return described(frames, entries), stop
}

// TestSplice: the program is stopped in the leaf g, whose caller f the link register has, and
// the capture has nothing of the stack; main called f.
func TestSplice(t *testing.T) {
	const g, f = "400208/context/certain/", "400118/cfi/certain/"
	for _, c := range []struct{ what, listed, want, stop string }{
		{"the list goes on where memory ends", "400208! 400118 400018.", g + "0 " + f + "1 400018/prewalked/likely/2", "root"},
		{"a frame that the list lacks is put back", "400208! 400018.", g + "0 " + f + "-1 400018/prewalked/likely/1", "root"},
		{"a list may begin at the caller", "400118 400018.", g + "-1 " + f + "0 400018/prewalked/likely/1", "root"},
		{"what no call stands before is left out", "400208! 400118 400030 400018.", g + "0 " + f + "1 400018/prewalked/likely/3", "root"},
		{"… and is a guess where nothing better follows", "400208! 400118 400030.", g + "0 " + f + "1 400030/prewalked/guess/2", "root"},
		{"what the capture doubts is left out", "400208! 400118 ?400318 400018.", g + "0 " + f + "1 400018/prewalked/likely/3", "root"},
		{"… unless code proves it", "400208! 400118 ?400018", g + "0 " + f + "1 400018/prewalked/likely/2", "unreadable"},
		{"a call through a register may be the callee's", "400208! 400118 400318", g + "0 " + f + "1 400318/prewalked/likely/2", "unreadable"},
		{"of a list that the capture doubts as a whole, what code does not prove is a guess", "?400208! ?400118 ?400318 ?400030",
			g + "0 " + f + "1 400318/prewalked/guess/2", "unreadable"},
		{"names alone", "400208! 400118 - -.", g + "0 " + f + "1 0/prewalked/likely/2 0/prewalked/likely/3", "root"},
		{"however many they are", "400208! 400118 " + strings.Repeat("?400318 ", 40) + "400018.", g + "0 " + f + "1 400018/prewalked/likely/42", "root"},
		{"an interrupted frame follows no call", "400208! 400118 400030!", g + "0 " + f + "1 400030/prewalked/likely/2", "unreadable"},
		{"a list that ends before the walk does", "400208!", g + "0 " + f + "-1", "unreadable"},
	} {
		t.Run(c.what, func(t *testing.T) {
			arch := o32()
			snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
			th := &snap.Threads[0]
			th.Listed = listOf(c.listed)
			opt := stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}}
			frames, stop := stackwalk.NewWalker(snap, opt).Walk(th, nil)
			frames, entries, stop := chain.Splice(snap, &opt, th, frames, stop)
			if got := described(frames, entries); got != c.want || stop.Reason.String() != c.stop {
				t.Errorf("%s, stop %v\nwant %s, stop %s", got, stop.Reason, c.want, c.stop)
			}
		})
	}
}

// TestSpliceLeftChain: between two functions without code stand words that the capture doubts, left over from main
// and f. That main called f says nothing of either function around them.
func TestSpliceLeftChain(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	snap.Threads[0].Regs = cpu.Registers{}
	snap.Threads[0].Listed = listOf("900000! 900010 ?400118 ?400018 900020 900030.")
	want := "900000/prewalked/likely/0 900010/prewalked/likely/1 900020/prewalked/likely/4 900030/prewalked/likely/5"
	if got, stop := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred}}); got != want || stop.Reason != unwind.StopRoot {
		t.Errorf("%s, stop %v, want %s", got, stop.Reason, want)
	}
}

// TestSpliceNamedFunction: the list names f alone, and says where f begins. The frame of f that was walked is that entry.
func TestSpliceNamedFunction(t *testing.T) {
	arch := o32()
	for entry, want := range map[uint64]string{
		fEntry: "400208/context/certain/0 400118/cfi/certain/1 400018/prewalked/likely/2",
		hEntry: "400208/context/certain/0 400118/cfi/certain/-1 0/prewalked/likely/1 400018/prewalked/likely/2",
	} {
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		snap.Threads[0].Listed = listOf("400208! - 400018.")
		snap.Threads[0].Listed[1].Entry = entry
		got, _ := spliced(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}})
		if got != want {
			t.Errorf("entry %#x: %s, want %s", entry, got, want)
		}
	}
}

// TestSplicePutsBack: the list lacks f, which main called and which calls g once; nothing of
// the stack was captured and no rule is known.
func TestSplicePutsBack(t *testing.T) {
	const g, f = "400208/context/certain/0 ", "400118/code/likely/-1 "
	for _, c := range []struct{ what, listed, want string }{
		{"before the outermost entry", "400208! 400018.", g + f + "400018/prewalked/likely/1"},
		{"rather than to leave out an entry that a pointer's call may be the caller of", "400208! 400018 400318.", g + f + "400018/prewalked/likely/1 400318/prewalked/likely/2"},
		{"not before what a search found", "400208! ?400018 400318.", g + "400318/prewalked/likely/2"},
	} {
		arch := o32()
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		th := &snap.Threads[0]
		th.Listed = listOf(c.listed)
		if got, stop := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred}}); got != c.want || stop.Reason != unwind.StopRoot {
			t.Errorf("%s: %s, stop %v\nwant %s", c.what, got, stop.Reason, c.want)
		}
	}
}

// TestSplicePutsBackBehindGuess: what is put back behind a guess, and what follows, is a guess.
func TestSplicePutsBackBehindGuess(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	th := &snap.Threads[0]
	th.Regs, th.Listed = cpu.Registers{}, listOf("400208! 400018.")
	th.Listed[0].Gap = true
	want := "400208/prewalked/guess/0 400118/code/guess/-1 400018/prewalked/guess/1"
	if got, _ := spliced(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred}}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSpliceWithoutPC: a thread of which nothing but a list is known has the frames listed.
func TestSpliceWithoutPC(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	th := &snap.Threads[0]
	th.Regs, th.Listed = cpu.Registers{}, listOf("400208! 400118 ?400318 400018.")
	opt := stackwalk.Options{CallGraph: graph{holds: sameHundred}}
	frames, stop := stackwalk.NewWalker(snap, opt).Walk(th, nil)
	frames, entries, stop := chain.Splice(snap, &opt, th, frames, stop)
	want := "400208/prewalked/likely/0 400118/prewalked/likely/1 400018/prewalked/likely/3"
	if got := described(frames, entries); got != want || stop.Reason != unwind.StopRoot {
		t.Errorf("%s, stop %v\nwant %s", got, stop.Reason, want)
	}
}

// TestSpliceKeepsWholeWalks: a walk that reaches the root needs no list.
func TestSpliceKeepsWholeWalks(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	th := &snap.Threads[0]
	th.Listed = listOf("400208! 400318 400118")
	opt := stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}}
	frames, stop := stackwalk.NewWalker(snap, opt).Walk(th, nil)
	frames, entries, stop := chain.Splice(snap, &opt, th, frames, stop)
	want := "400208/context/certain/0 400118/cfi/certain/2 400018/cfi/certain/-1"
	if got := described(frames, entries); got != want || stop.Reason != unwind.StopRoot {
		t.Errorf("%s, stop %v\nwant %s", got, stop.Reason, want)
	}
}

// TestSpliceBoundsFrames: --max-frames holds for listed frames too.
func TestSpliceBoundsFrames(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
	th := &snap.Threads[0]
	th.Listed = listOf("400208! " + strings.Repeat("400118 ", 50))
	opt := stackwalk.Options{MaxFrames: 5}
	frames, stop := stackwalk.NewWalker(snap, opt).Walk(th, nil)
	frames, _, stop = chain.Splice(snap, &opt, th, frames, stop)
	if len(frames) != 5 || stop.Reason != unwind.StopLimit {
		t.Errorf("%d frames, stop %v", len(frames), stop.Reason)
	}
}

// FuzzSplice: whatever a capture lists, each entry is a frame once at most, in order.
func FuzzSplice(f *testing.F) {
	f.Add("400208! 400118 ?400318 400018.")
	f.Add("?400118 - ?400018 400018. 400018")
	f.Fuzz(func(t *testing.T, list string) {
		arch := o32()
		snap := stopped(arch, synth.Stack(arch).Place(0x7fff_0000))
		th := &snap.Threads[0]
		th.Listed = listOf(list[:min(len(list), 400)])
		opt := stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}}
		frames, stop := stackwalk.NewWalker(snap, opt).Walk(th, nil)
		frames, entries, _ := chain.Splice(snap, &opt, th, frames, stop)
		last := -1
		for i := range frames {
			if k := entries[i]; k >= 0 && k <= last || k >= len(th.Listed) {
				t.Fatalf("frame %d is entry %d behind entry %d of %d", i, k, last, len(th.Listed))
			}
			last = max(last, entries[i])
			if frames[i].Method == unwind.MethodPrewalked && frames[i].Trust > unwind.Likely {
				t.Errorf("frame %d is listed and %v", i, frames[i].Trust)
			}
		}
	})
}
