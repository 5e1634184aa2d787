package stackwalk_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

func walk(snap *target.Snapshot, opt stackwalk.Options) ([]unwind.Frame, unwind.Stop) {
	return stackwalk.NewWalker(snap, opt).Walk(&snap.Threads[0], nil)
}

func pcs(frames []unwind.Frame) (out []uint64) {
	for i := range frames {
		out = append(out, frames[i].PC)
	}
	return out
}

// TestWalk: the innermost frame is the captured one; each CFA is the SP of the
// caller; the address to look up lies in the call; the outermost frame has no CFA.
func TestWalk(t *testing.T) {
	arch := o32()
	stack := stackOf(arch)
	frames, stop := walk(stopped(arch, stack), stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
	type frame struct {
		pc, site, cfa uint64
		method        unwind.Method
		trust         unwind.Trust
		exact, hasCFA bool
	}
	want := []frame{
		{inG, inG, stack.Addr("f"), unwind.MethodContext, unwind.Certain, true, true},
		{inF, inF - 8, stack.Addr("main"), unwind.MethodCFI, unwind.Certain, false, true},
		{inMain, inMain - 8, 0, unwind.MethodCFI, unwind.Certain, false, false},
	}
	var got []frame
	for _, f := range frames {
		got = append(got, frame{f.PC, f.CallSite, f.CFA, f.Method, f.Trust, f.Exact, f.HasCFA})
	}
	if !slices.Equal(got, want) || stop.Reason != unwind.StopRoot {
		t.Errorf("%+v, stop %v\nwant %+v", got, stop.Reason, want)
	}
}

// TestStale: registers that may be older than the stack make guesses only. Example: of a task
// that ran on, the memory has the context with which it was left before, and behind that
// frames of calls made since.
func TestStale(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	snap.Threads[0].Stale = true
	frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
	for _, f := range frames {
		if f.Trust != unwind.Guess {
			t.Errorf("%#x is %v", f.PC, f.Trust)
		}
	}
	if len(frames) != 3 {
		t.Errorf("%d frames", len(frames))
	}
}

// TestNamed: where the binary of a frame was found by its name alone, its callers are guesses; the registers' own PC is not.
func TestNamed(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	snap.Modules[0].Named = true
	frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
	for i, f := range frames {
		if want := i > 0; (f.Trust == unwind.Guess) != want || (f.Cap == unwind.CapNamed) != want {
			t.Errorf("%#x is %v, %v", f.PC, f.Trust, f.Cap)
		}
	}
	if len(frames) != 3 {
		t.Errorf("%d frames", len(frames))
	}
}

// TestStops: every reason, with the address that it is about.
func TestStops(t *testing.T) {
	arch := o32()
	cfi := func() rules { return tables(arch, unwind.MethodCFI, 0) }
	good := stackOf(arch)
	cases := []struct {
		name    string
		stack   synth.Placed
		sources func() []stackwalk.Source
		max     int
		frames  []uint64
		want    unwind.Stop
	}{
		{"root: a source knows the outermost frame", good,
			func() []stackwalk.Source { return []stackwalk.Source{cfi()} }, 0,
			[]uint64{inG, inF, inMain}, unwind.Stop{Reason: unwind.StopRoot}},
		{"root: the rule says that RA is undefined", good,
			func() []stackwalk.Source {
				r := cfi()
				r.at[inF] = []stackwalk.Rule{framed(arch, 32, stackwalk.RegRule{Kind: stackwalk.Undefined}, 0)}
				return []stackwalk.Source{r}
			}, 0, []uint64{inG, inF}, unwind.Stop{Reason: unwind.StopRoot}},
		{"root: the code clears RA", good,
			func() []stackwalk.Source {
				r := cfi()
				r.at[inF] = []stackwalk.Rule{framed(arch, 32, stackwalk.RegRule{Kind: stackwalk.Constant}, 0)}
				return []stackwalk.Source{r}
			}, 0, []uint64{inG, inF}, unwind.Stop{Reason: unwind.StopRoot}},
		{"null-pc: the saved return address is 0", synth.Stack(arch).Zero(96).Place(0x7fff_0000),
			func() []stackwalk.Source { return []stackwalk.Source{cfi()} }, 0,
			[]uint64{inG, inF}, unwind.Stop{Reason: unwind.StopNullPC}},
		{"no-rule: no source has an answer", good,
			func() []stackwalk.Source {
				r := cfi()
				delete(r.at, inF)
				return []stackwalk.Source{r}
			}, 0, []uint64{inG, inF}, unwind.Stop{Reason: unwind.StopNoRule, Addr: inF}},
		{"no-rule: callees have their frames where RA would be", synth.Stack(arch).Zero(12).Word(inMain).Zero(64).Place(0x7fff_0000),
			func() []stackwalk.Source {
				r := cfi()
				r.at[inG][0].CFA.Off = 16
				r.at[inF] = []stackwalk.Rule{saved(arch, 0, 0)}
				return []stackwalk.Source{r}
			}, 0, []uint64{inG, inF}, unwind.Stop{Reason: unwind.StopNoRule, Addr: inF}},
		{"no-rule: without sources", good, func() []stackwalk.Source { return nil }, 0,
			[]uint64{inG}, unwind.Stop{Reason: unwind.StopNoRule, Addr: inG}},
		{"unreadable: the frame was not captured", synth.Stack(arch).Zero(16).Place(0x7fff_0000),
			func() []stackwalk.Source { return []stackwalk.Source{cfi()} }, 0,
			[]uint64{inG, inF}, unwind.Stop{Reason: unwind.StopUnreadable, Addr: 0x7fff_001c}},
		{"unreadable: what the first source's rule needs, not what a worse one's does", synth.Stack(arch).Zero(16).Place(0x7fff_0000),
			func() []stackwalk.Source {
				r := tables(arch, unwind.MethodFP, 0)
				r.at[inF] = []stackwalk.Rule{framed(arch, 320, stackwalk.RegRule{Kind: stackwalk.AtCFA, Off: -4}, 0)}
				return []stackwalk.Source{cfi(), r}
			}, 0, []uint64{inG, inF}, unwind.Stop{Reason: unwind.StopUnreadable, Addr: 0x7fff_001c}},
		{"no-progress: SP would not rise", good,
			func() []stackwalk.Source {
				r := cfi()
				r.at[inF] = []stackwalk.Rule{framed(arch, -32, stackwalk.RegRule{Kind: stackwalk.AtReg, Base: arch.SP, Off: 28}, 0)}
				return []stackwalk.Source{r}
			}, 0, []uint64{inG, inF}, unwind.Stop{Reason: unwind.StopNoProgress, Addr: inMain}},
		{"loop: a signal frame leads back to itself", good,
			func() []stackwalk.Source { return []stackwalk.Source{circle{stopped(arch, good)}} }, 0,
			[]uint64{inG}, unwind.Stop{Reason: unwind.StopLoop, Addr: inG}},
		{"limit: more frames than asked for", good,
			func() []stackwalk.Source { return []stackwalk.Source{cfi()} }, 2,
			[]uint64{inG, inF}, unwind.Stop{Reason: unwind.StopLimit, Addr: inF}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			frames, stop := walk(stopped(arch, c.stack), stackwalk.Options{Sources: c.sources(), MaxFrames: c.max})
			if !slices.Equal(pcs(frames), c.frames) || stop != c.want {
				t.Errorf("%#x, stop %v at %#x; want %#x, %v at %#x", pcs(frames), stop.Reason, stop.Addr, c.frames, c.want.Reason, c.want.Addr)
			}
		})
	}
}

// circle is a source of signal frames that each interrupted the same code.
type circle struct{ snap *target.Snapshot }

func (circle) Method() unwind.Method { return unwind.MethodSigframe }

func (c circle) Step(_ *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	*out = stackwalk.Caller{Regs: c.snap.Threads[0].Regs, Exact: true, CFA: 0x7fff_0000, HasCFA: true}
	return unwind.Found
}

// TestNoRegisters: a thread whose PC was not captured has no frames.
func TestNoRegisters(t *testing.T) {
	snap := stopped(o32(), stackOf(o32()))
	snap.Threads[0].Regs.Forget(snap.Arch.PC)
	if frames, stop := walk(snap, stackwalk.Options{}); len(frames) != 0 || stop.Reason != unwind.StopNoRule {
		t.Errorf("%d frames, stop %v", len(frames), stop.Reason)
	}
}

// TestSources: the first source that convinces ends the search; one that only
// guesses is overruled by a later one; a scan is not asked when anything is known.
func TestSources(t *testing.T) {
	arch := o32()
	asked := 0
	scan := rules{method: unwind.MethodScan, asked: &asked}
	code := tables(arch, unwind.MethodCode, 0)
	code.at[inF] = []stackwalk.Rule{saved(arch, 32, stackwalk.Fallback)} // likely at best, and the search goes on
	later := tables(arch, unwind.MethodCFI, 0)
	frames, stop := walk(stopped(arch, stackOf(arch)), stackwalk.Options{Sources: []stackwalk.Source{code, later, scan}})
	if stop.Reason != unwind.StopRoot || asked != 0 || len(frames) != 3 {
		t.Fatalf("%d frames, stop %v, scan asked %d times", len(frames), stop.Reason, asked)
	}
	if frames[1].Method != unwind.MethodCode || frames[1].Trust != unwind.Likely {
		t.Errorf("found by %v, %v; the first source's answer is likely and ends the search", frames[1].Method, frames[1].Trust)
	}
	if frames[2].Method != unwind.MethodCFI || frames[2].Trust != unwind.Likely {
		t.Errorf("found by %v, %v; a fallback gives way, and no frame is surer than its callee", frames[2].Method, frames[2].Trust)
	}
}

// TestRefused: what code analysis may offer but cannot be a caller.
func TestRefused(t *testing.T) {
	arch := o32()
	cases := []struct {
		name string
		ra   uint64 // in the frame of f
		why  string
	}{
		{"data", 0x7fff_0000, "the return address is not executable"},
		{"outside all modules", 0x1234_5678, "the return address is not executable"},
		{"code that follows no call", mainEntry + 0x40, "no call stands before the return address"},
		{"behind a call of another function", inF, "the call before the return address goes elsewhere"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stack := synth.Stack(arch).Zero(28).Word(c.ra).Zero(64).Place(0x7fff_0000)
			var reason string
			frames, stop := walk(stopped(arch, stack), stackwalk.Options{
				Sources:   []stackwalk.Source{tables(arch, unwind.MethodCode, stackwalk.Agreed|stackwalk.FromEntry)},
				CallGraph: graph{holds: sameHundred},
				Explain: func(a unwind.Attempt) {
					if a.Frame == 1 && a.Applied {
						reason = a.Reason
					}
				},
			})
			if len(frames) != 2 || stop.Reason != unwind.StopNoRule || reason != c.why {
				t.Errorf("%#x, stop %v, reason %q; want %q", pcs(frames), stop.Reason, reason, c.why)
			}
		})
	}
}

// TestChoice: of several answers for a frame the one that the call's target
// confirms wins, whichever came first.
func TestChoice(t *testing.T) {
	arch := o32()
	stack := synth.Stack(arch).Zero(12).Word(inH).Zero(12).Word(inMain).Zero(64).Place(0x7fff_0000)
	code := tables(arch, unwind.MethodCode, 0)
	// inH lies in the frame: an old return address, behind a call that could go anywhere.
	code.at[inF] = []stackwalk.Rule{saved(arch, 16, 0), saved(arch, 32, stackwalk.FromEntry)}
	frames, _ := walk(stopped(arch, stack), stackwalk.Options{Sources: []stackwalk.Source{code}, CallGraph: graph{holds: sameHundred}})
	if len(frames) < 3 || frames[2].PC != inMain {
		t.Errorf("%#x", pcs(frames))
	}
}

// TestUntried: a rule that finds a caller is in doubt where another rule of g could not be tried,
// because LR is unknown. Here the first one reads f's frame as if that were g's, and skips f.
func TestUntried(t *testing.T) {
	arch := o32()
	code := tables(arch, unwind.MethodCode, stackwalk.Straight)
	other := code.at[inG][0]
	for what, c := range map[string]struct {
		answers  []stackwalk.Rule
		disputed bool
	}{
		"the only rule":            {[]stackwalk.Rule{saved(arch, 32, 0)}, false},
		"another one needs LR":     {[]stackwalk.Rule{saved(arch, 32, 0), other}, true},
		"the first one needs LR":   {[]stackwalk.Rule{other, saved(arch, 32, 0)}, true},
		"two derivations found it": {[]stackwalk.Rule{saved(arch, 32, stackwalk.Agreed), other}, false},
		"a fallback needs LR":      {[]stackwalk.Rule{saved(arch, 32, 0), leaf(arch, stackwalk.Fallback)}, false},
	} {
		snap := stopped(arch, stackOf(arch))
		snap.Threads[0].Regs.Forget(arch.LR)
		code.at[inG] = c.answers
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{code}, CallGraph: graph{holds: unknownTargets}})
		if len(frames) < 2 || frames[1].PC != inMain || frames[1].Checks&unwind.Disputed != 0 != c.disputed {
			t.Errorf("%s: %+v", what, frames)
		}
	}
}

// TestDamaged: two derivations agree on where f's return address lies, and what lies there is none. A rule that
// nothing confirms, as of a function that seems to fall through into f, leads to main's caller and skips main:
// neither that nor what follows is certain, though h is known to be called by a direct call.
func TestDamaged(t *testing.T) {
	arch := o32()
	const agreed, inCallerOfH = stackwalk.FromEntry | stackwalk.Agreed, 0x400238
	for _, ra := range []uint64{0x1234, 0} {
		stack := synth.Stack(arch).Zero(28).Word(ra).Zero(28).Word(inH).Zero(28).Word(inCallerOfH).Zero(64).Place(0x7fff_0000)
		snap := stopped(arch, stack)
		copy(snap.Modules[0].Image.Segments.Code(inCallerOfH-8), []byte{0x0c, 0x10, byte(hEntry >> 10 & 0xff), byte(hEntry >> 2 & 0xff)})
		code := tables(arch, unwind.MethodCode, agreed)
		code.at[inF] = []stackwalk.Rule{saved(arch, 32, agreed), saved(arch, 64, stackwalk.FromEntry)}
		code.at[inH], code.ends = []stackwalk.Rule{saved(arch, 32, agreed)}, map[uint64]bool{inCallerOfH: true}
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{code}, CallGraph: graph{holds: sameHundred}})
		if len(frames) != 4 || frames[2].PC != inH || frames[2].Trust != unwind.Likely || frames[3].Trust != unwind.Likely {
			t.Errorf("%#x: %+v", ra, frames)
		}
	}
}

// TestWrongIsNeverCertain puts stale return addresses, pointers to data, to code
// and numbers where a mistaken rule looks for the return address: code analysis
// must not call the frame certain, unless two derivations from a known entry
// agreed.
func TestWrongIsNeverCertain(t *testing.T) {
	arch := o32()
	for _, ra := range []uint64{inH, inF, inG, mainEntry, fEntry + 4, 0x7fff_0010, 0x40011a, 1, ^uint64(0)} {
		for _, flags := range []stackwalk.RuleFlags{0, stackwalk.FromEntry, stackwalk.Agreed, stackwalk.Fallback} {
			stack := synth.Stack(arch).Zero(28).Word(ra).Zero(64).Place(0x7fff_0000)
			code := tables(arch, unwind.MethodCode, flags)
			for _, holds := range []func(uint64, uint64) stackwalk.Answer{sameHundred, unknownTargets} {
				frames, _ := walk(stopped(arch, stack), stackwalk.Options{Sources: []stackwalk.Source{code}, CallGraph: graph{holds: holds}})
				if len(frames) > 2 && frames[2].Trust == unwind.Certain {
					t.Errorf("%#x with flags %b is certain: %v", ra, flags, frames[2].Checks)
				}
			}
		}
	}
}

// TestDeadEnd: a frame is not certain whose own rule leads nowhere. A stack that was not
// captured, or a frame that nobody has a rule for, says nothing about the frame.
func TestDeadEnd(t *testing.T) {
	arch := o32()
	returningTo := func(ra uint64) synth.Placed { return synth.Stack(arch).Zero(28).Word(ra).Zero(64).Place(0x7fff_0000) }
	for _, c := range []struct {
		what  string
		stack synth.Placed
		rule  bool // of f
		stop  unwind.StopReason
		want  unwind.Trust
	}{
		{"f returns to main", returningTo(inMain), true, unwind.StopRoot, unwind.Certain},
		{"f returns to no code", returningTo(0x1234), true, unwind.StopNoRule, unwind.Likely},
		{"f returns to where no call was made", returningTo(mainEntry), true, unwind.StopNoRule, unwind.Likely},
		{"f returns to 0", returningTo(0), true, unwind.StopNullPC, unwind.Likely},
		{"f has no rule", returningTo(inMain), false, unwind.StopNoRule, unwind.Certain},
		{"the stack was cut", synth.Stack(arch).Zero(16).Place(0x7fff_0000), true, unwind.StopUnreadable, unwind.Certain},
	} {
		cfi := tables(arch, unwind.MethodCFI, 0)
		if !c.rule {
			delete(cfi.at, inF)
		}
		frames, stop := walk(stopped(arch, c.stack), stackwalk.Options{Sources: []stackwalk.Source{cfi}, CallGraph: graph{holds: sameHundred}})
		if len(frames) < 2 || frames[1].PC != inF || frames[1].Trust != c.want || stop.Reason != c.stop {
			t.Errorf("%s: %+v, %v", c.what, frames, stop)
		}
	}
}

// TestCached: a walker that walks again finds the same frames in its cache, certain or not;
// sources are not asked any more.
func TestCached(t *testing.T) {
	arch := o32()
	for _, c := range []struct {
		method unwind.Method
		flags  stackwalk.RuleFlags
		offset uint64 // of the stack: SP is not aligned
		trust  unwind.Trust
		asks   bool // every time
	}{
		{unwind.MethodCFI, 0, 0, unwind.Certain, false},
		{unwind.MethodCFI, 0, 4, unwind.Certain, false},
		{unwind.MethodCode, 0, 0, unwind.Likely, false},
		{unwind.MethodCode, stackwalk.Fallback, 0, unwind.Likely, true},
	} {
		stack := stackOf(arch)
		stack.Base += c.offset
		snap := stopped(arch, stack)
		asked := 0
		source := tables(arch, c.method, c.flags)
		source.asked = &asked
		w := stackwalk.NewWalker(snap, stackwalk.Options{Sources: []stackwalk.Source{source}})
		cold, stop := w.Walk(&snap.Threads[0], nil)
		if len(cold) != 3 || cold[1].Trust != c.trust {
			t.Errorf("%v: %+v", c, cold)
		}
		for range 3 {
			asked = 0
			again, s := w.Walk(&snap.Threads[0], nil)
			if !slices.Equal(again, cold) || s != stop {
				t.Fatalf("%v: %+v, %v\nfirst %+v, %v", c, again, s, cold, stop)
			}
		}
		if asked != 0 != c.asks {
			t.Errorf("%v: sources were asked %d times", c, asked)
		}
	}
}

// TestNoAllocations: a walk allocates nothing once everything was met.
func TestNoAllocations(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	for name, opt := range map[string]stackwalk.Options{
		"from the cache": {Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}},
		"from the source": {Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: graph{holds: sameHundred},
			Registers: func(int, *cpu.Registers) {}},
	} {
		w := stackwalk.NewWalker(snap, opt)
		dst := make([]unwind.Frame, 0, 8)
		if n := testing.AllocsPerRun(100, func() { dst, _ = w.Walk(&snap.Threads[0], dst[:0]) }); n != 0 || len(dst) != 3 {
			t.Errorf("%s: %v allocations a walk of %d frames", name, n, len(dst))
		}
	}
}

// TestSizes pins what hot loops copy.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"cpu.Insn", unsafe.Sizeof(cpu.Insn{}), 48},
		{"unwind.Frame", unsafe.Sizeof(unwind.Frame{}), 48},
		{"unwind.RegRule", unsafe.Sizeof(stackwalk.RegRule{}), 48},
		{"packed.Rule", unsafe.Sizeof(packed.Rule{}), 16},
	} {
		if c.got != c.want {
			t.Errorf("%s has %d bytes, not %d", c.name, c.got, c.want)
		}
	}
}

// TestMissingModules: where the file is missing, tables of nobody help, and frames
// in its range are believed less.
func TestMissingModules(t *testing.T) {
	arch := o32()
	snap := stopped(arch, stackOf(arch))
	m := *snap.Modules[0]
	m.Image = nil
	snap.Modules = []*target.Module{&m}
	frames, stop := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)}})
	if len(frames) != 1 || stop.Reason != unwind.StopNoRule || frames[0].Checks != unwind.Executable|unwind.CodeMissing {
		t.Errorf("%+v, stop %v", frames, stop.Reason)
	}
}
