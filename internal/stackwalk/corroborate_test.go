package stackwalk

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestCorroborate: walks, innermost frame first, and what they end as.
func TestCorroborate(t *testing.T) {
	const (
		sized      = unwind.FrameSize
		hint       = unwind.Disputed
		proven     = ordinary | unwind.TargetMatches
		indirect   = ordinary
		unclear    = ordinary | unwind.TargetUnclear
		byJump     = ordinary | unwind.TargetMatches | unwind.TargetUnclear
		trampoline = unwind.SPMonotonic | unwind.SPAligned | unwind.SPInStack | unwind.AtTrampoline
		saved      = unwind.Executable | unwind.Interrupted
		code       = unwind.MethodsAgree | unwind.EntryKnown // found by code analysis, which read the frame's size from the stack
	)
	type frame struct {
		checks unwind.Checks
		was    unwind.Trust
		want   unwind.Trust
	}
	c := func(checks unwind.Checks, want unwind.Trust) frame { return frame{checks, unwind.Certain, want} }
	for _, walk := range []struct {
		what   string
		root   bool
		frames []frame
	}{
		{"calls that go where they should need nobody", false, []frame{c(proven, unwind.Certain), c(proven, unwind.Certain)}},
		{"a callback is corroborated by what called its caller", false, []frame{c(indirect, unwind.Certain), c(proven, unwind.Certain)}},
		{"two of them, one by the other", false, []frame{c(indirect, unwind.Certain), c(indirect, unwind.Certain), c(proven, unwind.Certain)}},
		{"nothing is left to corroborate: the stack was cut", false, []frame{c(proven, unwind.Certain), c(indirect, unwind.Likely)}},
		{"what is not certain makes what follows uncertain", false,
			[]frame{c(indirect, unwind.Certain), c(unclear|code, unwind.Likely), c(proven|code, unwind.Likely), c(proven, unwind.Likely)}},
		{"but for a table: the next call goes straight to the function in doubt, and the table says where its frame lies", false,
			[]frame{c(indirect, unwind.Certain), c(unclear, unwind.Likely), c(proven, unwind.Certain), c(proven, unwind.Certain)}},
		{"but not where the next call goes straight to the function in doubt, and the sizes of the frames meet", false,
			[]frame{c(unclear|sized, unwind.Likely), c(proven|sized, unwind.Certain), c(proven, unwind.Certain)}},
		{"a call that comes there by a jump does not tell which function that is; one that goes straight to its own does, by tables", false,
			[]frame{c(unclear|sized, unwind.Likely), c(byJump|sized, unwind.Likely), c(proven, unwind.Certain)}},
		{"and by code not", false, []frame{c(unclear|code, unwind.Likely), c(byJump|code, unwind.Likely), c(proven|code, unwind.Likely)}},
		{"a size that was read from the stack may lead to another activation of that function", false,
			[]frame{c(unclear|sized, unwind.Likely), c(proven|code, unwind.Likely), c(proven|sized, unwind.Likely)}},
		{"behind an indirect call the wrong size may have led to a frame further out, of which the table says where it lies", false,
			[]frame{c(unclear|sized, unwind.Likely), c(indirect|sized, unwind.Likely), c(proven|sized, unwind.Certain)}},
		{"unless a rule on the way is a hint", false,
			[]frame{c(unclear|sized|hint, unwind.Likely), c(indirect|sized, unwind.Likely), c(proven|sized, unwind.Likely)}},
		{"where the rule itself is in doubt there may be a frame too many, or one too few", false,
			[]frame{c(proven|sized|hint, unwind.Likely), c(proven|sized, unwind.Likely)}},
		{"a pointer to a function can be the return address of a call that never returns", false,
			[]frame{c(proven|sized|unwind.AtStart, unwind.Likely), c(proven|code, unwind.Likely)}},
		{"unless the next call goes straight to the function that the call is in, and the sizes of the frames meet", false,
			[]frame{c(proven|sized|unwind.AtStart, unwind.Certain), c(proven|sized, unwind.Certain)}},
		{"what its function's size leads to says which function it is", false,
			[]frame{c(proven|sized|unwind.AtStart, unwind.Likely), c(indirect|sized, unwind.Certain), c(proven, unwind.Certain)}},
		{"unless nothing tells whether that is a frame", false,
			[]frame{c(proven|sized|unwind.AtStart, unwind.Likely), c(indirect|sized, unwind.Likely), c(indirect, unwind.Likely)}},
		{"a direct call whose way is not clear is never certain: it may be another one of that function", false,
			[]frame{c(unclear, unwind.Likely), c(proven|code, unwind.Likely)}},
		{"though where its function leads says that an indirect call led to the callee", false,
			[]frame{c(indirect, unwind.Certain), c(unclear, unwind.Likely), c(proven|code, unwind.Likely)}},
		{"but not that a call did which came by a jump, of which there may be another", false,
			[]frame{c(byJump|code, unwind.Likely), c(unclear, unwind.Likely), c(proven, unwind.Likely)}},
		{"unless no other call of its function can have led to the callee", false,
			[]frame{c(byJump|unwind.SoleCall, unwind.Certain), c(unclear, unwind.Likely), c(proven|code, unwind.Likely)}},
		{"nor that a call did of which nothing is known but that no other can have", false,
			[]frame{c(indirect|unwind.SoleCall|code, unwind.Likely), c(unclear, unwind.Likely), c(proven, unwind.Likely)}},
		{"which another frame tells", false, []frame{c(indirect|unwind.SoleCall, unwind.Certain), c(indirect, unwind.Certain), c(proven, unwind.Certain)}},
		{"a tail call does", false, []frame{c(indirect, unwind.Certain), c(byJump, unwind.Certain), c(proven, unwind.Certain)}},
		{"a frame that is likely at best does not", false, []frame{c(indirect, unwind.Likely), c(indirect|hint, unwind.Likely), c(proven|sized, unwind.Likely)}},
		{"a signal: the interrupted frame's caller corroborates all three", false,
			[]frame{c(indirect, unwind.Certain), c(trampoline, unwind.Certain), c(saved, unwind.Certain), c(proven, unwind.Certain)}},
		{"a signal frame that leads nowhere", false, []frame{c(proven, unwind.Certain), c(trampoline, unwind.Likely), c(saved, unwind.Likely)}},
		{"a thread: clone calls start_thread calls its function", true, []frame{c(proven, unwind.Certain), c(indirect, unwind.Certain), c(indirect, unwind.Certain)}},
		{"an interrupted frame said to be the outermost one", true, []frame{c(proven, unwind.Certain), c(saved, unwind.Likely)}},
		{"the return address was overwritten by one of a call of the same function: from there only a search leads on", false,
			[]frame{c(proven, unwind.Certain), c(proven, unwind.Likely), {ordinary, unwind.Guess, unwind.Guess}}},
	} {
		frames := []unwind.Frame{{Trust: unwind.Certain}}
		want := []unwind.Trust{unwind.Certain}
		for _, f := range walk.frames {
			method := unwind.MethodCFI
			if f.checks.Has(unwind.Interrupted) {
				method = unwind.MethodSigframe
			} else if f.checks.Has(code) {
				method = unwind.MethodCode
			}
			frames = append(frames, unwind.Frame{Checks: f.checks, Trust: f.was, Method: method, Exact: f.checks.Has(unwind.Interrupted)})
			want = append(want, f.want)
		}
		corroborate(frames, walk.root, syscalls{}, &interiors{})
		var got []unwind.Trust
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
	const weak = unwind.Executable | unwind.CallBefore | unwind.SPMonotonic | unwind.SPAligned | unwind.SPInStack | unwind.FrameSize
	const agreed = weak | unwind.MethodsAgree | unwind.EntryKnown
	for _, c := range []struct {
		what  string
		doubt unwind.Checks
		next  unwind.Checks
		want  unwind.Trust
	}{
		{"the next call goes straight there", weak, agreed | unwind.TargetMatches, unwind.Certain},
		{"nobody knows where the next call goes", weak, agreed, unwind.Likely},
		{"the rule was only a hint", weak | unwind.Disputed, agreed | unwind.TargetMatches, unwind.Likely},
	} {
		frames := []unwind.Frame{{Trust: unwind.Certain}}
		for _, checks := range []unwind.Checks{c.doubt, c.next, agreed | unwind.TargetMatches} {
			frames = append(frames, unwind.Frame{Checks: checks, Trust: unwind.Likely, Method: unwind.MethodCode})
		}
		corroborate(frames, false, syscalls{}, &interiors{})
		if frames[1].Trust != unwind.Likely || frames[2].Trust != c.want || frames[3].Trust != c.want {
			t.Errorf("%s: %v, %v, %v", c.what, frames[1].Trust, frames[2].Trust, frames[3].Trust)
		}
	}
}

// TestStartsMain: main, whose last call never returns, keeps its CFA in its frame, as on i386. The
// start's argument says that the C library's call through a pointer was that of main.
//
//	#4 _start   #3 __libc_start_main   #2 what calls main   #1 main   #0
func TestStartsMain(t *testing.T) {
	const proven = ordinary | unwind.EntryKnown | unwind.TargetMatches
	app := new(target.Module)
	for _, c := range []struct {
		what   string
		passed uint64
		main   unwind.Checks
		want   unwind.Trust
	}{
		{"the start hands on another function", 0x2000, proven | unwind.FrameSize | unwind.AtStart, unwind.Likely},
		{"the start hands on main", 0x1000, proven | unwind.FrameSize | unwind.AtStart, unwind.Certain},
		{"main was found by a hint", 0x1000, proven | unwind.FrameSize | unwind.AtStart | unwind.Disputed, unwind.Likely},
	} {
		frames := []unwind.Frame{{Trust: unwind.Certain},
			{Checks: c.main, Trust: unwind.Likely, Module: app, CallSite: 0x1010},
			{Checks: ordinary | unwind.EntryKnown | unwind.MethodsAgree, Trust: unwind.Likely},
			{Checks: proven | unwind.FrameSize, Trust: unwind.Certain, CFA: 0x7000, HasCFA: true},
			{Checks: proven | unwind.FrameSize, Trust: unwind.Certain, Module: app}}
		for i := range frames[1:] {
			frames[1+i].Method = unwind.MethodCode
		}
		var stack target.Builder
		word := []byte{0, 0, 0, 0, 0, 0, 0, 0}
		binary.LittleEndian.PutUint64(word, c.passed)
		stack.Add(0x7000, word, 0, target.PermRead)
		arch := x86.Archs()[0]
		corroborate(frames, true, startHandsOn{}, &interiors{snap: &target.Snapshot{Arch: arch, Memory: stack.Memory(arch)}})
		started := frames[2].Checks.Has(unwind.StartsMain)
		if started != (c.passed == 0x1000) || frames[1].Trust != c.want || frames[2].Trust != c.want || frames[4].Trust != c.want {
			t.Errorf("%s: %+v", c.what, frames)
		}
	}
}

// TestStartsMainAlone: main has just begun, of i386's dropbearkey at 0x2734, behind and $-16,%esp:
// a single derivation, from an entry that nothing but the start's argument names, led to its caller.
// Any other size of main's frame would have missed the one place where its call returns.
func TestStartsMainAlone(t *testing.T) {
	const proven = ordinary | unwind.EntryKnown | unwind.TargetMatches | unwind.FrameSize
	for _, c := range []struct {
		what   string
		main   uint64
		caller unwind.Checks
		want   unwind.Trust
	}{
		{"the start hands on main", 0x1010, ordinary, unwind.Certain},
		{"another function was interrupted", 0x2010, ordinary, unwind.Likely},
		{"main's rule is a hint", 0x1010, ordinary | unwind.Disputed, unwind.Likely},
	} {
		frames := []unwind.Frame{{Trust: unwind.Certain, Module: new(target.Module), CallSite: c.main, Exact: true},
			{Method: unwind.MethodCode, Checks: c.caller, Trust: unwind.Likely},
			{Method: unwind.MethodCode, Checks: proven, Trust: unwind.Certain, CFA: 0x7000, HasCFA: true},
			{Method: unwind.MethodCode, Checks: proven, Trust: unwind.Certain}}
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
	const byJump = ordinary | unwind.TargetMatches | unwind.TargetUnclear | unwind.EntryKnown | unwind.Unopposed
	for _, c := range []struct {
		what string
		jump unwind.Checks
		want unwind.Trust
	}{
		{"by a jump", byJump | unwind.FrameSize, unwind.Certain},
		{"a size that was read from the stack", byJump, unwind.Likely},
		{"by a hint of a rule", byJump | unwind.FrameSize | unwind.Disputed, unwind.Likely},
	} {
		frames := []unwind.Frame{{Trust: unwind.Certain, Module: new(target.Module), CallSite: 0x1010, Exact: true},
			{Method: unwind.MethodCode, Checks: ordinary | unwind.EntryKnown | unwind.MethodsAgree | unwind.FrameSize, Trust: unwind.Certain},
			{Method: unwind.MethodCode, Checks: c.jump, Trust: unwind.Likely, CFA: 0x7000, HasCFA: true},
			{Method: unwind.MethodCode, Checks: ordinary | unwind.EntryKnown | unwind.MethodsAgree | unwind.FrameSize | unwind.AtStart, Trust: unwind.Certain}}
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
		proven       = ordinary | unwind.TargetMatches
		corroborated = ordinary | unwind.Corroborated
		interrupted  = unwind.Executable | unwind.Interrupted | unwind.Corroborated
	)
	for _, walk := range []struct {
		what   string
		frames []unwind.Checks
		want   []unwind.Trust
	}{
		{"only the interrupted frame is in doubt where its caller is proven",
			[]unwind.Checks{interrupted, proven, proven, corroborated}, []unwind.Trust{unwind.Likely, unwind.Certain, unwind.Certain, unwind.Certain}},
		{"and the next, the first that the saved SP leads to if the interrupted one was a leaf",
			[]unwind.Checks{interrupted, proven, corroborated, proven}, []unwind.Trust{unwind.Likely, unwind.Certain, unwind.Likely, unwind.Likely}},
		{"else there may be one frame too many, and all further out is shifted",
			[]unwind.Checks{interrupted, corroborated, proven}, []unwind.Trust{unwind.Likely, unwind.Likely, unwind.Likely}},
	} {
		var frames []unwind.Frame
		for _, c := range walk.frames {
			frames = append(frames, unwind.Frame{Checks: c, Trust: unwind.Certain, Exact: c&unwind.Interrupted != 0})
		}
		doubtInterrupted(frames, noSyscalls{})
		for i := range frames {
			if frames[i].Trust != walk.want[i] {
				t.Errorf("%s: frame %d is %v, want %v", walk.what, i, frames[i].Trust, walk.want[i])
			}
		}
	}
}
