package unwind_test

import (
	"testing"

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
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: sameHundred, threadEnd: c.threadEnd}})
		for round := range 3 {
			frames, stop := w.Walk(&snap.Threads[0], nil)
			if len(frames) != 3 || stop.Reason != c.stop || frames[2].Trust != c.want {
				t.Errorf("%s, round %d: %v, %+v", c.what, round, stop.Reason, frames)
			}
		}
	}
}

// TestBinding: f calls g through a PLT stub whose import is not bound. The stub leaves a word
// below the return address for the dynamic linker.
func TestBinding(t *testing.T) {
	arch := o32()
	unclear := func(entry, pc uint64) unwind.Answer {
		if entry == fEntry {
			return sameHundred(entry, pc)
		}
		return unwind.Unknown
	}
	for _, c := range []struct {
		what string
		word uint64
		want unwind.Trust
	}{
		{"the word is that of the stub", 7, unwind.Certain},
		{"another stub was called", 8, unwind.Likely},
	} {
		stack := synth.Stack(arch).Word(c.word).Word(inF).Label("f").Zero(28).Word(inMain).Label("main").Zero(64).Place(0x7fff_0000)
		snap := stopped(arch, stack)
		source := tables(arch, unwind.MethodCFI, 0)
		source.at[inG] = []unwind.Rule{saved(arch, 8, 0)}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{source}, CallGraph: graph{holds: unclear, binding: 7}})
		for round := range 3 {
			if frames, _ := w.Walk(&snap.Threads[0], nil); len(frames) != 3 || frames[1].Trust != c.want {
				t.Errorf("%s, round %d: %+v", c.what, round, frames)
			}
		}
	}
}
