package unwind

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
)

// TestCorroborate: walks, innermost frame first, and what they end as.
func TestCorroborate(t *testing.T) {
	const (
		sized      = FrameSize
		hint       = Disputed
		proven     = ordinary | TargetMatches
		indirect   = ordinary
		unclear    = ordinary | TargetUnclear
		byJump     = ordinary | TargetMatches | TargetUnclear
		trampoline = SPMonotonic | SPAligned | SPInStack | AtTrampoline
		saved      = Executable | Interrupted
		code       = MethodsAgree | EntryKnown // found by code analysis, which read the frame's size from the stack
	)
	type frame struct {
		checks Checks
		was    Trust
		want   Trust
	}
	c := func(checks Checks, want Trust) frame { return frame{checks, Certain, want} }
	for _, walk := range []struct {
		what   string
		root   bool
		frames []frame
	}{
		{"calls that go where they should need nobody", false, []frame{c(proven, Certain), c(proven, Certain)}},
		{"a callback is corroborated by what called its caller", false, []frame{c(indirect, Certain), c(proven, Certain)}},
		{"two of them, one by the other", false, []frame{c(indirect, Certain), c(indirect, Certain), c(proven, Certain)}},
		{"nothing is left to corroborate: the stack was cut", false, []frame{c(proven, Certain), c(indirect, Likely)}},
		{"what is not certain makes what follows uncertain", false,
			[]frame{c(indirect, Certain), c(unclear|code, Likely), c(proven|code, Likely), c(proven, Likely)}},
		{"but for a table: the next call goes straight to the function in doubt, and the table says where its frame lies", false,
			[]frame{c(indirect, Certain), c(unclear, Likely), c(proven, Certain), c(proven, Certain)}},
		{"but not where the next call goes straight to the function in doubt, and the sizes of the frames meet", false,
			[]frame{c(unclear|sized, Likely), c(proven|sized, Certain), c(proven, Certain)}},
		{"a call that comes there by a jump does not tell which function that is; one that goes straight to its own does, by tables", false,
			[]frame{c(unclear|sized, Likely), c(byJump|sized, Likely), c(proven, Certain)}},
		{"and by code not", false, []frame{c(unclear|code, Likely), c(byJump|code, Likely), c(proven|code, Likely)}},
		{"a size that was read from the stack may lead to another activation of that function", false,
			[]frame{c(unclear|sized, Likely), c(proven|code, Likely), c(proven|sized, Likely)}},
		{"behind an indirect call the wrong size may have led to a frame further out, of which the table says where it lies", false,
			[]frame{c(unclear|sized, Likely), c(indirect|sized, Likely), c(proven|sized, Certain)}},
		{"unless a rule on the way is a hint", false,
			[]frame{c(unclear|sized|hint, Likely), c(indirect|sized, Likely), c(proven|sized, Likely)}},
		{"where the rule itself is in doubt there may be a frame too many, or one too few", false,
			[]frame{c(proven|sized|hint, Likely), c(proven|sized, Likely)}},
		{"a pointer to a function can be the return address of a call that never returns", false,
			[]frame{c(proven|sized|AtStart, Likely), c(proven|code, Likely)}},
		{"unless the next call goes straight to the function that the call is in, and the sizes of the frames meet", false,
			[]frame{c(proven|sized|AtStart, Certain), c(proven|sized, Certain)}},
		{"what its function's size leads to says which function it is", false,
			[]frame{c(proven|sized|AtStart, Likely), c(indirect|sized, Certain), c(proven, Certain)}},
		{"unless nothing tells whether that is a frame", false,
			[]frame{c(proven|sized|AtStart, Likely), c(indirect|sized, Likely), c(indirect, Likely)}},
		{"a direct call whose way is not clear is never certain: it may be another one of that function", false,
			[]frame{c(unclear, Likely), c(proven|code, Likely)}},
		{"though where its function leads says that an indirect call led to the callee", false,
			[]frame{c(indirect, Certain), c(unclear, Likely), c(proven|code, Likely)}},
		{"but not that a call did which came by a jump, of which there may be another", false,
			[]frame{c(byJump|code, Likely), c(unclear, Likely), c(proven, Likely)}},
		{"unless no other call of its function can have led to the callee", false,
			[]frame{c(byJump|SoleCall, Certain), c(unclear, Likely), c(proven|code, Likely)}},
		{"nor that a call did of which nothing is known but that no other can have", false,
			[]frame{c(indirect|SoleCall|code, Likely), c(unclear, Likely), c(proven, Likely)}},
		{"which another frame tells", false, []frame{c(indirect|SoleCall, Certain), c(indirect, Certain), c(proven, Certain)}},
		{"a tail call does", false, []frame{c(indirect, Certain), c(byJump, Certain), c(proven, Certain)}},
		{"a frame that is likely at best does not", false, []frame{c(indirect, Likely), c(indirect|hint, Likely), c(proven|sized, Likely)}},
		{"a signal: the interrupted frame's caller corroborates all three", false,
			[]frame{c(indirect, Certain), c(trampoline, Certain), c(saved, Certain), c(proven, Certain)}},
		{"a signal frame that leads nowhere", false, []frame{c(proven, Certain), c(trampoline, Likely), c(saved, Likely)}},
		{"a thread: clone calls start_thread calls its function", true, []frame{c(proven, Certain), c(indirect, Certain), c(indirect, Certain)}},
		{"an interrupted frame said to be the outermost one", true, []frame{c(proven, Certain), c(saved, Likely)}},
		{"the return address was overwritten by one of a call of the same function: from there only a search leads on", false,
			[]frame{c(proven, Certain), c(proven, Likely), {ordinary, Guess, Guess}}},
	} {
		frames := []Frame{{Trust: Certain}}
		want := []Trust{Certain}
		for _, f := range walk.frames {
			method := MethodCFI
			if f.checks.Has(Interrupted) {
				method = MethodSigframe
			} else if f.checks.Has(code) {
				method = MethodCode
			}
			frames = append(frames, Frame{Checks: f.checks, Trust: f.was, Method: method, Exact: f.checks.Has(Interrupted)})
			want = append(want, f.want)
		}
		corroborate(frames, walk.root, syscalls{}, &interiors{})
		var got []Trust
		for i := range frames {
			got = append(got, frames[i].Trust)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", walk.what, got, want)
		}
	}
}

// TestUnconfirmedRule: a rule of code analysis that nothing confirms led to a frame in doubt. The
// doubt ends where the next rule leads to a call of that frame's function.
func TestUnconfirmedRule(t *testing.T) {
	const weak = Executable | CallBefore | SPMonotonic | SPAligned | SPInStack | FrameSize
	const agreed = weak | MethodsAgree | EntryKnown
	for _, c := range []struct {
		what  string
		doubt Checks
		next  Checks
		want  Trust
	}{
		{"the next call goes straight there", weak, agreed | TargetMatches, Certain},
		{"nobody knows where the next call goes", weak, agreed, Likely},
		{"the rule was only a hint", weak | Disputed, agreed | TargetMatches, Likely},
	} {
		frames := []Frame{{Trust: Certain}}
		for _, checks := range []Checks{c.doubt, c.next, agreed | TargetMatches} {
			frames = append(frames, Frame{Checks: checks, Trust: Likely, Method: MethodCode})
		}
		corroborate(frames, false, syscalls{}, &interiors{})
		if frames[1].Trust != Likely || frames[2].Trust != c.want || frames[3].Trust != c.want {
			t.Errorf("%s: %v, %v, %v", c.what, frames[1].Trust, frames[2].Trust, frames[3].Trust)
		}
	}
}

// TestStartsMain: main, whose last call never returns, keeps its CFA in its frame, as on i386. The
// start's argument says that the C library's call through a pointer was that of main.
//
//	#4 _start   #3 __libc_start_main   #2 what calls main   #1 main   #0
func TestStartsMain(t *testing.T) {
	const proven = ordinary | EntryKnown | TargetMatches
	app := new(target.Module)
	for _, c := range []struct {
		what   string
		passed uint64
		main   Checks
		want   Trust
	}{
		{"the start hands on another function", 0x2000, proven | FrameSize | AtStart, Likely},
		{"the start hands on main", 0x1000, proven | FrameSize | AtStart, Certain},
		{"main was found by a hint", 0x1000, proven | FrameSize | AtStart | Disputed, Likely},
	} {
		frames := []Frame{{Trust: Certain},
			{Checks: c.main, Trust: Likely, Module: app, CallSite: 0x1010},
			{Checks: ordinary | EntryKnown | MethodsAgree, Trust: Likely},
			{Checks: proven | FrameSize, Trust: Certain, CFA: 0x7000, HasCFA: true},
			{Checks: proven | FrameSize, Trust: Certain, Module: app}}
		for i := range frames[1:] {
			frames[1+i].Method = MethodCode
		}
		var stack target.Builder
		word := []byte{0, 0, 0, 0, 0, 0, 0, 0}
		binary.LittleEndian.PutUint64(word, c.passed)
		stack.Add(0x7000, word, 0, target.PermRead)
		arch := x86.Archs()[0]
		corroborate(frames, true, startHandsOn{}, &interiors{snap: &target.Snapshot{Arch: arch, Memory: stack.Memory(arch)}})
		started := frames[2].Checks.Has(StartsMain)
		if started != (c.passed == 0x1000) || frames[1].Trust != c.want || frames[2].Trust != c.want || frames[4].Trust != c.want {
			t.Errorf("%s: %+v", c.what, frames)
		}
	}
}

// TestStartsMainAlone: main has just begun, of i386's dropbearkey at 0x2734, behind and $-16,%esp:
// a single derivation, from an entry that nothing but the start's argument names, led to its caller.
// Any other size of main's frame would have missed the one place where its call returns.
func TestStartsMainAlone(t *testing.T) {
	const proven = ordinary | EntryKnown | TargetMatches | FrameSize
	for _, c := range []struct {
		what   string
		main   uint64
		caller Checks
		want   Trust
	}{
		{"the start hands on main", 0x1010, ordinary, Certain},
		{"another function was interrupted", 0x2010, ordinary, Likely},
		{"main's rule is a hint", 0x1010, ordinary | Disputed, Likely},
	} {
		frames := []Frame{{Trust: Certain, Module: new(target.Module), CallSite: c.main, Exact: true},
			{Method: MethodCode, Checks: c.caller, Trust: Likely},
			{Method: MethodCode, Checks: proven, Trust: Certain, CFA: 0x7000, HasCFA: true},
			{Method: MethodCode, Checks: proven, Trust: Certain}}
		frames[3].Module = frames[0].Module
		stack := new(target.Builder)
		stack.Add(0x7000, []byte{0, 0x10, 0, 0, 0, 0, 0, 0}, 0, target.PermRead)
		arch := x86.Archs()[0]
		corroborate(frames, true, startHandsOn{}, &interiors{snap: &target.Snapshot{Arch: arch, Memory: stack.Memory(arch)}})
		if frames[1].Trust != c.want {
			t.Errorf("%s: %+v", c.what, frames[1])
		}
	}
}

// TestStartsMainByJump: in musl __libc_start_main ends in a jump to the function that calls main, and
// which never returns, so that one derivation led to its caller.
func TestStartsMainByJump(t *testing.T) {
	const byJump = ordinary | TargetMatches | TargetUnclear | EntryKnown | Unopposed
	for _, c := range []struct {
		what string
		jump Checks
		want Trust
	}{
		{"by a jump", byJump | FrameSize, Certain},
		{"a size that was read from the stack", byJump, Likely},
		{"by a hint of a rule", byJump | FrameSize | Disputed, Likely},
	} {
		frames := []Frame{{Trust: Certain, Module: new(target.Module), CallSite: 0x1010, Exact: true},
			{Method: MethodCode, Checks: ordinary | EntryKnown | MethodsAgree | FrameSize, Trust: Certain},
			{Method: MethodCode, Checks: c.jump, Trust: Likely, CFA: 0x7000, HasCFA: true},
			{Method: MethodCode, Checks: ordinary | EntryKnown | MethodsAgree | FrameSize | AtStart, Trust: Certain}}
		frames[3].Module = frames[0].Module
		stack := new(target.Builder)
		stack.Add(0x7000, []byte{0, 0x10, 0, 0, 0, 0, 0, 0}, 0, target.PermRead)
		arch := x86.Archs()[0]
		corroborate(frames, true, startHandsOn{}, &interiors{snap: &target.Snapshot{Arch: arch, Memory: stack.Memory(arch)}})
		if frames[1].Trust != c.want {
			t.Errorf("%s: %+v", c.what, frames[1])
		}
	}
}

// startHandsOn is a CallGraph for which main begins at 0x1000.
type startHandsOn struct{ syscalls }

func (startHandsOn) StartHandsOn(_ *target.Module, _, passed, pc uint64, _ cpu.Mode) bool {
	return passed == 0x1000 && pc == 0x1010
}

// syscalls is a CallGraph for which each interrupted frame stands behind a system call.
type syscalls struct{ CallGraph }

func (syscalls) BehindSyscall(*target.Module, uint64, cpu.Mode) bool { return true }

// noSyscalls is a CallGraph that knows no system call.
type noSyscalls struct{ CallGraph }

func (noSyscalls) BehindSyscall(*target.Module, uint64, cpu.Mode) bool { return false }

// TestDoubtInterrupted: what is certain of a walk through an interrupted frame, frame by frame from the innermost one.
func TestDoubtInterrupted(t *testing.T) {
	const (
		proven       = ordinary | TargetMatches
		corroborated = ordinary | Corroborated
		interrupted  = Executable | Interrupted | Corroborated
	)
	for _, walk := range []struct {
		what   string
		frames []Checks
		want   []Trust
	}{
		{"only the interrupted frame is in doubt where its caller is proven",
			[]Checks{interrupted, proven, proven, corroborated}, []Trust{Likely, Certain, Certain, Certain}},
		{"and the next, the first that the saved SP leads to if the interrupted one was a leaf",
			[]Checks{interrupted, proven, corroborated, proven}, []Trust{Likely, Certain, Likely, Likely}},
		{"else there may be one frame too many, and all further out is shifted",
			[]Checks{interrupted, corroborated, proven}, []Trust{Likely, Likely, Likely}},
	} {
		var frames []Frame
		for _, c := range walk.frames {
			frames = append(frames, Frame{Checks: c, Trust: Certain, Exact: c&Interrupted != 0})
		}
		doubtInterrupted(frames, noSyscalls{})
		for i := range frames {
			if frames[i].Trust != walk.want[i] {
				t.Errorf("%s: frame %d is %v, want %v", walk.what, i, frames[i].Trust, walk.want[i])
			}
		}
	}
}
