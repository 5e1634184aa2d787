package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// hook is where the tracer made f return to.
const hook = 0x400480

// TestHookedReturn: the tracer keeps where f returns to, by the stack pointer of main. Where main
// had jumped to f from h, which was traced as well, h's entry tells. An entry of another function,
// or one without a place, is not sure. Without an entry the tracer's own address is a guess.
func TestHookedReturn(t *testing.T) {
	arch := o32()
	stack := synth.Stack(arch).
		Label("f").Zero(28).Word(hook).
		Label("main").Zero(64).
		Place(0x7fff_0000)
	place := [2]uint64{0, stack.Addr("main")}
	whole := []uint64{inG, inF, inMain}
	for _, c := range []struct {
		what  string
		kept  []target.HookedReturn
		want  []uint64
		trust unwind.Trust
	}{
		{"by place", []target.HookedReturn{{Return: inH, Function: fEntry, Places: [2]uint64{4}}, {Return: inMain, Function: fEntry, Places: place}}, whole, unwind.Certain},
		{"two functions in one place", []target.HookedReturn{{Return: inMain, Function: hEntry, Places: place}, {Return: hook, Function: fEntry, Places: place}}, whole, unwind.Certain},
		{"a probe keeps no function", []target.HookedReturn{{Return: inMain, Places: place}}, whole, unwind.Certain},
		{"another function", []target.HookedReturn{{Return: inMain, Function: hEntry, Places: place}}, whole, unwind.Likely},
		{"without places", []target.HookedReturn{{Return: inH, Function: gEntry}, {Return: inMain, Function: fEntry}}, whole, unwind.Likely},
		{"nothing is kept", nil, []uint64{inG, inF, hook}, unwind.Guess},
		{"hooked without end", []target.HookedReturn{{Return: hook, Function: fEntry, Places: place}}, []uint64{inG, inF, hook}, unwind.Guess},
	} {
		snap := stopped(arch, stack)
		snap.Hooks = []uint64{hook}
		snap.Threads[0].Hooked = c.kept
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}})
		if !slices.Equal(pcs(frames), c.want) {
			t.Errorf("%s: %x, want %x", c.what, pcs(frames), c.want)
			continue
		}
		last := frames[len(frames)-1]
		if repaired := last.Checks&unwind.ReturnHooked != 0; last.Trust != c.trust || repaired != (last.PC == inMain) {
			t.Errorf("%s: %v, %v", c.what, last.Trust, last.Checks)
		}
	}
}

// TestHookedOnce: g and f were both called under the tracer. A place of g's entry, the frame pointer of f, is the
// stack pointer of main too, and f's entry has a place in the tracer's own frame (RISC-V): g's entry is used up
// when f returns to main.
func TestHookedOnce(t *testing.T) {
	arch := o32()
	stack := synth.Stack(arch).
		Label("f").Zero(28).Word(hook).
		Label("main").Zero(64).
		Place(0x7fff_0000)
	entryOfF := target.HookedReturn{Return: inMain, Function: fEntry, Places: [2]uint64{stack.Addr("f") - 64}}
	entryOfG := target.HookedReturn{Return: inF, Function: gEntry, Places: [2]uint64{stack.Addr("main"), stack.Addr("f")}}
	for _, c := range []struct {
		what string
		kept []target.HookedReturn
		want []uint64
	}{
		{"in order", []target.HookedReturn{entryOfF, entryOfG}, []uint64{inG, inF, inMain}},
		{"an entry behind the last one in use", []target.HookedReturn{entryOfF, entryOfG, {Return: inH, Function: fEntry}}, []uint64{inG, inF, inMain}},
		{"the outer entry is lost", []target.HookedReturn{entryOfG}, []uint64{inG, inF, hook}},
	} {
		snap := stopped(arch, stack)
		snap.Threads[0].Regs = *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": stack.Base, "ra": hook})
		snap.Hooks, snap.Threads[0].Hooked = []uint64{hook}, c.kept
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}})
		if last := frames[len(frames)-1]; !slices.Equal(pcs(frames), c.want) || last.Trust == unwind.Certain {
			t.Errorf("%s: %x, %v, want %x", c.what, pcs(frames), last.Trust, c.want)
		}
	}
}

// TestHookedOnlyThere: another thread that came through the same calls without the tracer has
// nothing of the tracer in its frames.
func TestHookedOnlyThere(t *testing.T) {
	arch := o32()
	stack := synth.Stack(arch).
		Label("f").Zero(28).Word(hook).
		Label("main").Zero(28).
		Label("untraced").Zero(28).Word(inMain).Zero(64).
		Place(0x7fff_0000)
	snap := stopped(arch, stack)
	snap.Hooks = []uint64{hook}
	snap.Threads[0].Hooked = []target.HookedReturn{{Return: inMain, Function: fEntry, Places: [2]uint64{stack.Addr("main")}}}
	w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred}})
	untraced := target.Thread{ID: 2, Regs: *synth.Regs(arch, map[string]uint64{"pc": inG, "sp": stack.Addr("untraced"), "ra": inF})}
	for _, c := range []struct {
		thread *target.Thread
		hooked bool
	}{{&snap.Threads[0], true}, {&untraced, false}, {&snap.Threads[0], true}} {
		frames, stop := w.Walk(c.thread, nil)
		if stop.Reason != unwind.StopRoot || len(frames) != 3 || frames[2].Checks&unwind.ReturnHooked != 0 != c.hooked {
			t.Errorf("thread %d: %d frames, %v", c.thread.ID, len(frames), stop)
		}
	}
}
