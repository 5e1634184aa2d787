package stackwalk_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestOutside: g was called by code that was made at run time, outside all modules. The frame pointer leads on through that
// code, even where no call stands before the return address, as in HotSpot's interpreter: by a guess. Back in a module, a call must
// stand there.
func TestOutside(t *testing.T) {
	arch := o32()
	const made, resumes, elsewhere = 0x700000, 0x700040, 0x700080
	inTable := rules{method: unwind.MethodCFI, at: map[uint64][]stackwalk.Rule{inG: {leaf(arch, 0)}}, ends: map[uint64]bool{inH: true}}
	byConvention := rules{method: unwind.MethodFP, at: map[uint64][]stackwalk.Rule{resumes: {saved(arch, 16, 0)}, elsewhere: {saved(arch, 16, 0)}}}
	for _, c := range []struct {
		last uint64
		want []uint64
	}{
		{inH, []uint64{inG, resumes, elsewhere, inH}},
		{inH + 16, []uint64{inG, resumes, elsewhere}},
	} {
		stack := synth.Stack(arch).Zero(12).Word(elsewhere).Zero(12).Word(c.last).Zero(64).Place(0x7fff_0000)
		snap := stopped(arch, stack)
		var b target.Builder
		b.Add(stack.Base, stack.Data, 0, target.PermUnknown)
		b.Add(made, bytes.Repeat([]byte{0, 0, 0, 0x25}, 64), 0, target.PermRead|target.PermExec)
		snap.Memory = b.Memory(arch)
		snap.Threads[0].Regs.Set(arch.LR, resumes)
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{inTable, byConvention}, CallGraph: graph{holds: sameHundred}})
		if got := pcs(frames); !slices.Equal(got, c.want) || frames[2].Trust != unwind.Guess {
			t.Errorf("%#x, want %#x; %+v", got, c.want, frames)
		}
	}
}

// TestPerhapsCode: of a binary that is not at hand a dump of Windows tells the place alone. A rule may lead there, but not for certain.
// A frame pointer that does not lead up the stack is none: the walk ends for want of a rule, not of memory.
func TestPerhapsCode(t *testing.T) {
	arch := o32()
	const inHidden, base = 0x700040, 0x700000
	inTable := rules{method: unwind.MethodCFI, at: map[uint64][]stackwalk.Rule{inG: {leaf(arch, 0)}}}
	byPointer := saved(arch, 16, 0)
	fp, _ := arch.RegByName("fp")
	byPointer.CFA.Base = fp
	byConvention := rules{method: unwind.MethodFP, at: map[uint64][]stackwalk.Rule{inHidden - base: {byPointer}}}
	for _, c := range []struct {
		pc   uint64
		fp   uint64
		want []uint64
		stop unwind.StopReason
	}{
		{inG, 0, []uint64{inG, inHidden}, unwind.StopNoRule},
		{inHidden, 0x18, []uint64{inHidden}, unwind.StopNoRule},
		{inHidden, 0x7fff_8000, []uint64{inHidden}, unwind.StopUnreadable},
	} {
		snap := stopped(arch, synth.Stack(arch).Zero(64).Place(0x7fff_0000))
		hidden := image.New(image.Header{Arch: arch, Segments: image.Segments{{Size: 0x1000}}}, nil)
		snap.Modules = append(snap.Modules, &target.Module{Name: "hidden.dll", Image: hidden, Bias: base, Range: target.Range{Lo: base, Hi: base + 0x1000}})
		regs := &snap.Threads[0].Regs
		regs.Set(arch.PC, c.pc)
		regs.Set(arch.LR, inHidden)
		regs.Set(fp, c.fp)
		frames, stop := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{inTable, byConvention}})
		if got := pcs(frames); !slices.Equal(got, c.want) || len(frames) > 1 && frames[1].Trust == unwind.Certain || stop.Reason != c.stop {
			t.Errorf("PC %#x, frame pointer %#x: %#x, %v; %+v", c.pc, c.fp, got, stop, frames)
		}
	}
}

// TestMadeCode: a profile's sample of code that was made at run time, of which a recording has the place and no bytes. The frame pointer leads
// on, by a guess, for the sample may be of a prologue. Where it leads nowhere, the stack is searched.
func TestMadeCode(t *testing.T) {
	arch := o32()
	const made, sampled, resumes = 0x700000, 0x700010, 0x700040
	inTable := rules{method: unwind.MethodCFI, ends: map[uint64]bool{inH: true}}
	byConvention := rules{method: unwind.MethodFP, at: map[uint64][]stackwalk.Rule{sampled: {saved(arch, 16, 0)}, resumes: {saved(arch, 16, 0)}}}
	beyond := rules{method: unwind.MethodFP, at: map[uint64][]stackwalk.Rule{sampled: {saved(arch, 1<<20, 0)}}}
	for _, c := range []struct {
		by   rules
		want []uint64
	}{
		{byConvention, []uint64{sampled, resumes, inH}},
		{beyond, []uint64{sampled, inH}},
	} {
		snap := stopped(arch, synth.Stack(arch).Zero(12).Word(resumes).Zero(12).Word(inH).Zero(64).Place(0x7fff_0000))
		snap.Modules = append(snap.Modules, &target.Module{Name: "//anon", Range: target.Range{Lo: made, Hi: made + 0x1000}})
		snap.SortModules()
		snap.Threads[0].Regs.Set(arch.PC, sampled)
		opt := stackwalk.Options{Sources: []stackwalk.Source{inTable, c.by, found{inH}}, CallGraph: graph{holds: sameHundred}, Unchecked: true}
		frames, _ := walk(snap, opt)
		if got := pcs(frames); !slices.Equal(got, c.want) || frames[1].Trust != unwind.Guess {
			t.Errorf("%#x, want %#x; %+v", got, c.want, frames)
		}
	}
}

// inCode puts a program's thread into code outside all files, at a PC, with an image of that code's bytes. made: as a log has it.
func inCode(snap *target.Snapshot, lo, pc uint64, made bool) {
	text := image.Segment{Addr: lo, Size: 0x100, Data: bytes.Repeat([]byte{0, 0, 0, 0x25}, 0x40), Read: true, Exec: true}
	img := image.New(image.Header{Arch: snap.Arch, Made: made, Segments: image.Segments{text}}, nil)
	snap.Modules = append(snap.Modules, &target.Module{Name: "//anon", Range: target.RangeOf(lo, text.Size), Image: img})
	snap.SortModules()
	snap.Threads[0].Regs.Set(snap.Arch.PC, pc)
}

// TestLoggedCode: code that was made at run time, with its bytes. What two derivations of its code agree on leads to where no call stands, by a
// guess: HotSpot's interpreter pushes where it goes on. The frame pointer, which may be that of any frame, is not asked then; it is where one derivation
// alone says so, and what it finds is a guess. Of a sample it is asked as if a call had been made there.
func TestLoggedCode(t *testing.T) {
	arch := o32()
	const made, sampled, resumes, elsewhere = 0x700000, 0x700010, 0x700040, 0x700080
	inTable := rules{method: unwind.MethodCFI, ends: map[uint64]bool{inH: true}}
	byConvention := rules{method: unwind.MethodFP, at: map[uint64][]stackwalk.Rule{sampled: {saved(arch, 32, 0)}, resumes: {saved(arch, 16, 0)}, elsewhere: {saved(arch, 32, 0)}}}
	for flags, want := range map[stackwalk.RuleFlags][]uint64{stackwalk.Agreed: {sampled, resumes, elsewhere, inH}, 0: {sampled, elsewhere, inH}} {
		rule := saved(arch, 16, 0)
		rule.Flags |= flags
		byCode := rules{method: unwind.MethodCode, at: map[uint64][]stackwalk.Rule{sampled: {rule}}}
		snap := stopped(arch, synth.Stack(arch).Zero(12).Word(resumes).Zero(12).Word(elsewhere).Zero(28).Word(inH).Zero(64).Place(0x7fff_0000))
		inCode(snap, made, sampled, true)
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{inTable, byCode, byConvention}, CallGraph: graph{holds: sameHundred}})
		if got := pcs(frames); !slices.Equal(got, want) || frames[1].Trust != unwind.Guess {
			t.Errorf("%#x, want %#x; %+v", got, want, frames)
		}
	}
}

// TestMadeEpilogue: where code was interrupted that was made at run time, the code is asked before the table beside it, which knows calls alone.
// Behind "pop %rbp" V8's table has the frame pointer on the stack still, below SP, which no capture has.
func TestMadeEpilogue(t *testing.T) {
	arch := o32()
	const made, sampled = 0x700000, 0x700010
	s8, _ := arch.RegByName("s8")
	popped, byFP := saved(arch, 16, 0), saved(arch, 16, 0)
	popped.Add(stackwalk.RegRule{Kind: stackwalk.AtCFA, Reg: s8, Base: cpu.NoReg, Off: -64})
	byFP.CFA.Base = s8
	for isMade, want := range map[bool][]uint64{true: {sampled, inH, inF}, false: {sampled, inH}} {
		inTable := rules{method: unwind.MethodCFI, at: map[uint64][]stackwalk.Rule{sampled: {popped}, inH: {byFP}}, ends: map[uint64]bool{inF: true}}
		byCode := rules{method: unwind.MethodCode, at: map[uint64][]stackwalk.Rule{sampled: {saved(arch, 16, 0)}}}
		snap := stopped(arch, synth.Stack(arch).Zero(12).Word(inH).Zero(28).Word(inF).Zero(64).Place(0x7fff_0000))
		inCode(snap, made, sampled, isMade)
		snap.Threads[0].Regs.Set(s8, 0x7fff_0020)
		opt := stackwalk.Options{Sources: []stackwalk.Source{inTable, byCode}, CallGraph: graph{holds: sameHundred}, Unchecked: true}
		if frames, _ := walk(snap, opt); !slices.Equal(pcs(frames), want) {
			t.Errorf("made: %v: %#x, want %#x", isMade, pcs(frames), want)
		}
	}
}

// found is a search of the stack that finds a return address.
type found struct{ pc uint64 }

func (found) Method() unwind.Method { return unwind.MethodScan }

func (f found) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	sp, _ := s.Regs.Lookup(arch.SP)
	out.Regs.Set(arch.PC, f.pc)
	out.Regs.Set(arch.SP, sp+32)
	return unwind.Found
}
