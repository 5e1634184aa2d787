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

// signals is a source of signal frames: code at trampoline was entered otherwise
// than by a call, and interrupted the program as regs say.
type signals struct {
	regs      cpu.Registers
	notAFrame bool
}

func (signals) Method() unwind.Method { return unwind.MethodSigframe }

func (signals) At(_ *stackwalk.State, pc uint64, _ cpu.Mode) bool { return pc == trampoline }

func (s signals) Step(st *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	if st.PC != trampoline {
		return unwind.NotCovered
	}
	*out = stackwalk.Caller{Regs: s.regs, Exact: true, NotAFrame: s.notAFrame, CFA: 0x7fff_0020, HasCFA: true}
	return unwind.Found
}

// inHandler is stopped in a signal handler, which returns to the trampoline, with the
// registers that it interrupted f with.
func inHandler(arch *cpu.Arch) (snap *target.Snapshot, interrupted *cpu.Registers) {
	stack := synth.Stack(arch).
		Label("handler").Zero(28).Word(trampoline).
		Label("interrupted").Zero(28).Word(inMain).
		Zero(64).
		Place(0x7fff_0000)
	snap = stopped(arch, stack)
	snap.Threads[0].Regs.Set(arch.LR, trampoline)
	return snap, synth.Regs(arch, map[string]uint64{"pc": inF, "sp": stack.Addr("interrupted")})
}

// TestTrampoline: f, a signal handler, returns to the trampoline, before which no
// call stands; behind the trampoline the PC is exact again. Where the place is no
// frame of its own (Cortex-M's EXC_RETURN) the chain does without it.
func TestTrampoline(t *testing.T) {
	arch := o32()
	snap, interrupted := inHandler(arch)
	for _, c := range []struct {
		notAFrame bool
		want      []uint64
	}{
		{false, []uint64{inG, trampoline, inF, inMain}},
		{true, []uint64{inG, inF, inMain}},
	} {
		frames, stop := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{
			signals{*interrupted, c.notAFrame}, tables(arch, unwind.MethodCFI, 0)}})
		if !slices.Equal(pcs(frames), c.want) || stop.Reason != unwind.StopRoot {
			t.Fatalf("%#x, stop %v; want %#x", pcs(frames), stop.Reason, c.want)
		}
		f := frames[len(frames)-2]
		if !f.Exact || f.CallSite != f.PC || f.Checks&unwind.Interrupted == 0 || f.Trust != unwind.Certain {
			t.Errorf("the interrupted frame: %+v", f)
		}
	}
}

// TestInterrupted: which instruction was interrupted is certain behind a system call only;
// the frame further out has its own witness, the call of f's function.
func TestInterrupted(t *testing.T) {
	arch := o32()
	snap, interrupted := inHandler(arch)
	for _, c := range []struct {
		what    string
		syscall uint64
		want    unwind.Trust
	}{
		{"in kill", inF, unwind.Certain},
		{"in the middle of work", 0, unwind.Likely},
	} {
		frames, _ := walk(snap, stackwalk.Options{CallGraph: graph{holds: sameHundred, syscall: c.syscall}, Sources: []stackwalk.Source{
			signals{*interrupted, false}, tables(arch, unwind.MethodCFI, 0)}})
		if len(frames) != 4 || frames[1].Trust != unwind.Certain || frames[2].Trust != c.want || frames[3].Trust != unwind.Certain {
			t.Errorf("%s: %+v", c.what, frames)
		}
	}
}
