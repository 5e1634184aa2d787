package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

// TestThreadStart: main's call of f is where the thread began. What lies on the stack behind
// main's frame was put there by whoever made the thread.
func TestThreadStart(t *testing.T) {
	arch := o32()
	for _, c := range []struct {
		what      string
		threadEnd uint64
		stop      unwind.StopReason
		want      unwind.Trust
	}{
		{"the code behind the call ends the thread", inMain, unwind.StopRoot, unwind.Certain},
		{"the code behind the call goes on", 0, unwind.StopNoRule, unwind.Likely},
	} {
		snap := stopped(arch, stackOf(arch))
		source := tables(arch, unwind.MethodCode, 0)
		source.ends = nil
		w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{source}, CallGraph: graph{holds: sameHundred, threadEnd: c.threadEnd}})
		for round := range 3 {
			frames, stop := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 3 || stop.Reason != c.stop || frames[2].Trust != c.want {
				t.Errorf("%s, round %d: %v, %+v", c.what, round, stop.Reason, frames)
			}
		}
	}
}

// TestOtherState: code of another security state called f, though no call of f is in this program, as of a thread's function. The chain is
// not whole.
func TestOtherState(t *testing.T) {
	for state, want := range map[uint64]unwind.StopReason{0: unwind.StopRoot, 0xfeff_ffff: unwind.StopNoRule} {
		arch := *o32()
		arch.OtherState = state
		snap := stopped(&arch, synth.Stack(&arch).Zero(28).Word(0xfeff_fffe).Zero(64).Place(0x7fff_0000))
		frames, stop := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(&arch, unwind.MethodCode, 0)}, CallGraph: graph{holds: sameHundred, threadEnd: inF}})
		if len(frames) != 2 || stop.Reason != want {
			t.Errorf("%#x: %v after %d frames, want %v", state, stop.Reason, len(frames), want)
		}
	}
}

// TestReturnsToStart: makecontext has f return to the first instruction of a function that never returns. That is the outermost
// frame; nothing is looked for behind.
func TestReturnsToStart(t *testing.T) {
	arch := o32()
	const start = hEntry
	stack := synth.Stack(arch).Zero(28).Word(start).Zero(28).Word(inF).Zero(64).Place(0x7fff_0000)
	for end, want := range map[uint64]unwind.StopReason{start: unwind.StopRoot, 0: unwind.StopNoRule} {
		snap := stopped(arch, stack)
		source := tables(arch, unwind.MethodCFI, 0)
		frames, stop := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{source}, CallGraph: graph{holds: sameHundred, threadEnd: end}})
		last := &frames[len(frames)-1]
		if len(frames) != 3 || stop.Reason != want || last.PC != start || want == unwind.StopRoot && (last.CallSite != start || last.Trust == unwind.Guess) {
			t.Errorf("thread ends at %#x: %v, %+v", end, stop, frames)
		}
	}
}

// TestRefutedRule: the word that f's rule leads to is no return address. That the frame pointer, which f does not have, leads out of memory
// is not why the walk ends.
func TestRefutedRule(t *testing.T) {
	arch := o32()
	snap := stopped(arch, synth.Stack(arch).Zero(28).Word(0x5a5a5a5a).Zero(64).Place(0x7fff_0000))
	snap.Threads[0].Regs.Set(arch.FP, 0)
	byFP := rules{method: unwind.MethodFP, at: map[uint64][]stackwalk.Rule{inF: {framed(arch, 0, stackwalk.RegRule{Kind: stackwalk.AtReg, Base: arch.FP, Off: 4}, 0)}}}
	sources := []stackwalk.Source{tables(arch, unwind.MethodCode, stackwalk.FromEntry), byFP}
	frames, stop := walk(snap, stackwalk.Options{Sources: sources, CallGraph: graph{holds: sameHundred}})
	if len(frames) != 2 || stop.Reason != unwind.StopNoRule {
		t.Errorf("%v after %d frames", stop, len(frames))
	}
}

// TestNotRunYet: a thread that waits where a function begins has not run yet; one that waits elsewhere, or was
// stopped there, has.
func TestNotRunYet(t *testing.T) {
	arch := o32()
	for _, c := range []struct {
		what  string
		pc    uint64
		waits bool
		stop  unwind.StopReason
	}{
		{"waits at a function's beginning", gEntry, true, unwind.StopRoot},
		{"was stopped there", gEntry, false, unwind.StopNoRule},
		{"waits within the function", gEntry + 4, true, unwind.StopNoRule},
	} {
		snap := stopped(arch, stackOf(arch))
		th := &snap.Threads[0]
		th.Regs = *synth.Regs(arch, map[string]uint64{"pc": c.pc, "sp": th.Regs.Val[arch.SP]})
		th.Waits = c.waits
		w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCode, 0)}, CallGraph: graph{holds: sameHundred}})
		for round := range 2 {
			if frames, stop := w.Walk(th, nil); len(frames) != 1 || stop.Reason != c.stop {
				t.Errorf("%s, round %d: %v, %+v", c.what, round, stop.Reason, frames)
			}
		}
	}
}

// goexit is a container with one function, which a table knows to be the outermost one.
type goexit struct{ image.Container }

const outermostEntry = 0x400400

func (goexit) SymbolAt(addr uint64) (image.Symbol, bool) {
	return image.Symbol{Name: "goexit", Addr: outermostEntry, Size: 0x20}, addr-outermostEntry < 0x20
}

func (goexit) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (goexit) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (goexit) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }

// TestBegunAsIfCalled: the runtime begins a thread with the address of goexit's second instruction as the
// return address. No call stands before. Anywhere else in goexit that is damage.
func TestBegunAsIfCalled(t *testing.T) {
	arch := o32()
	for ra, want := range map[uint64]unwind.Trust{outermostEntry + 4: unwind.Certain, outermostEntry + 8: unwind.Guess} {
		stack := synth.Stack(arch).Label("f").Zero(28).Word(ra).Label("main").Zero(64).Place(0x7fff_0000)
		snap := stopped(arch, stack)
		m := *snap.Modules[0]
		m.Image = image.New(m.Image.Header, goexit{})
		snap.Modules[0] = &m
		source := tables(arch, unwind.MethodCFI, 0)
		source.ends[ra] = true
		w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{source}, CallGraph: graph{holds: sameHundred}})
		for round := range 3 {
			frames, stop := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 3 || stop.Reason != unwind.StopRoot || frames[2].Trust != want {
				t.Errorf("return address %#x, round %d: %v, %+v", ra, round, stop.Reason, frames)
			}
		}
	}
}
