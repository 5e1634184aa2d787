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

// entryCode is the rule of entry code that keeps SP at sp+16 and the PC at sp+20.
func entryCode(arch *cpu.Arch) (r stackwalk.Rule) {
	r.Reset()
	r.CFA = stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: cpu.NoReg, Base: arch.SP, Off: 16}
	r.RA = stackwalk.RegRule{Kind: stackwalk.AtReg, Reg: cpu.NoReg, Base: arch.SP, Off: 20}
	r.Flags = stackwalk.SignalFrame | stackwalk.ExceptionFrame
	return r
}

// TestExceptionFrame: g is entry code. What it saved is the code that the exception interrupted,
// also where that is a jump to 0; at the end of the thread's stack, it is user space's, and the
// kernel's stack begins there, unless the stack pointer that it saved is one of that stack.
func TestExceptionFrame(t *testing.T) {
	arch := o32()
	interrupted := func(pc, end, sp uint64) ([]unwind.Frame, unwind.Stop) {
		stack := synth.Stack(arch).Zero(16).Word(0x7fff_0000 + sp).Word(pc).Zero(0x200).Place(0x7fff_0000)
		snap := stopped(arch, stack)
		snap.Threads[0].Stack = target.Range{Lo: stack.Base, Hi: stack.Base + end}
		src := tables(arch, unwind.MethodCFI, 0)
		src.at[inG] = []stackwalk.Rule{entryCode(arch)}
		return walk(snap, stackwalk.Options{Sources: []stackwalk.Source{src}})
	}
	for _, c := range []struct {
		name        string
		pc, end, sp uint64
		frames      []uint64
		reason      unwind.StopReason
	}{
		{"a function", inMain, 0x200, 0x100, []uint64{inG, inMain}, unwind.StopRoot},
		{"a jump to 0", 0, 0x200, 0x100, []uint64{inG, 0}, unwind.StopNoRule},
		{"user space", 0x10004, 56, 0x100, []uint64{inG}, unwind.StopRoot},
		{"a function near the stack's end", inMain, 56, 24, []uint64{inG, inMain}, unwind.StopRoot},
		{"a kernel thread, never in user space", 0, 56, 0x100, []uint64{inG}, unwind.StopRoot},
	} {
		frames, stop := interrupted(c.pc, c.end, c.sp)
		if got := pcs(frames); !slices.Equal(got, c.frames) || stop.Reason != c.reason {
			t.Errorf("%s: %#x, %v; want %#x, %v", c.name, got, stop, c.frames, c.reason)
		}
		if len(frames) > 1 && (frames[1].Method != unwind.MethodException || !frames[1].Exact) {
			t.Errorf("%s: %+v", c.name, frames[1])
		}
	}
}

// TestWaits: a thread that was switched out waits in a call: its PC is looked up at the call, and
// what holds there is what holds once the call has returned.
func TestWaits(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	th := &snap.Threads[0]
	th.Regs.Set(arch.PC, inF)
	frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
	if !frames[0].Exact || frames[0].CallSite != inF {
		t.Errorf("an interrupted thread: %+v", frames[0])
	}
	th.Waits = true
	frames, _ = walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
	if got := pcs(frames); frames[0].Exact || frames[0].CallSite != inF-8 || !slices.Equal(got, []uint64{inF, inMain}) {
		t.Errorf("%#x, %+v", got, frames[0])
	}
}

// TestBackFromInterrupts: a handler runs on a stack of interrupts above the thread's own, and f
// goes back to that one: SP falls, but onto the stack that the capture states.
func TestBackFromInterrupts(t *testing.T) {
	arch := o32()
	own := synth.Stack(arch).Zero(28).Word(inMain).Zero(64).Place(0x7000_0000)
	interrupts := synth.Stack(arch).Zero(64).Place(0x7fff_0000)
	snap := synth.Capture(arch, []*target.Module{program(arch)}, own, interrupts)
	regs := synth.Regs(arch, map[string]uint64{"pc": inG, "sp": interrupts.Base, "ra": inF, "s8": own.Base})
	src := tables(arch, unwind.MethodCode, stackwalk.FromEntry|stackwalk.Agreed)
	back := saved(arch, 32, stackwalk.FromEntry|stackwalk.Agreed)
	back.CFA.Base, _ = arch.RegByName("s8")
	src.at[inF] = []stackwalk.Rule{back}
	for _, stated := range []bool{true, false} {
		snap.Threads = []target.Thread{{ID: 1, Regs: *regs}}
		want := []uint64{inG, inF}
		if stated {
			snap.Threads[0].Stack, want = target.Range{Lo: own.Base, Hi: own.Base + 96}, append(want, inMain)
		}
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{src}})
		if got := pcs(frames); !slices.Equal(got, want) || frames[len(frames)-1].Trust == unwind.Guess {
			t.Errorf("stack stated %t: %#x, %v", stated, got, frames[len(frames)-1].Trust)
		}
	}
}
