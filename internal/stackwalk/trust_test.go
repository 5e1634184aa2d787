package stackwalk

import (
	"github.com/backsight/backsight/unwind"
	"testing"
)

// The evidence of an ordinary frame: executable, after a call, higher, aligned and
// within the stack.
const ordinary = unwind.Executable | unwind.CallBefore | unwind.SPMonotonic | unwind.SPAligned | unwind.SPInStack

// TestTrust walks through the table in trustOf's comment, row by row.
func TestTrust(t *testing.T) {
	for _, c := range []struct {
		what   string
		method unwind.Method
		checks unwind.Checks
		want   unwind.Trust
	}{
		{"captured registers are what they are", unwind.MethodContext, 0, unwind.Certain},
		{"an interrupted PC in code that holds", unwind.MethodSigframe, unwind.Executable | unwind.Interrupted | unwind.Corroborated, unwind.Certain},
		{"nothing tells that it holds", unwind.MethodSigframe, unwind.Executable | unwind.Interrupted, unwind.Likely},
		{"a jump into nowhere was interrupted", unwind.MethodSigframe, unwind.Interrupted | unwind.Corroborated, unwind.Likely},
		{"a trampoline that the kernel wrote onto the stack", unwind.MethodSigframe, unwind.SPMonotonic | unwind.AtTrampoline | unwind.Corroborated, unwind.Certain},
		{"an exception frame", unwind.MethodException, unwind.Executable | unwind.Interrupted | unwind.Corroborated, unwind.Certain},

		{"a table's frame behind a call of the callee", unwind.MethodCFI, ordinary | unwind.TargetMatches, unwind.Certain},
		{"a table's frame behind a call", unwind.MethodCFI, ordinary, unwind.Likely},
		{"the same, and the frame further out is proven", unwind.MethodCFI, ordinary | unwind.Corroborated, unwind.Certain},
		{"a call that may come to the callee by a jump", unwind.MethodCFI, ordinary | unwind.TargetMatches | unwind.TargetUnclear, unwind.Likely},
		{"the same, corroborated", unwind.MethodCFI, ordinary | unwind.TargetMatches | unwind.TargetUnclear | unwind.Corroborated, unwind.Certain},
		{"a signal handler returns to its trampoline", unwind.MethodCFI, unwind.SPMonotonic | unwind.AtTrampoline | unwind.Corroborated, unwind.Certain},
		{"a trampoline that leads nowhere", unwind.MethodCFI, unwind.SPMonotonic | unwind.AtTrampoline, unwind.Likely},
		{"a table's frame in a file that is missing", unwind.MethodCFI, unwind.Executable | unwind.SPMonotonic | unwind.CodeMissing | unwind.Corroborated, unwind.Likely},
		{"a table's frame behind no call", unwind.MethodCFI, unwind.Executable | unwind.SPMonotonic | unwind.NoCall | unwind.Corroborated, unwind.Guess},
		{"code that a handler interrupted, as a table has it of Go's sigpanic", unwind.MethodCFI, unwind.Executable | unwind.SPMonotonic | unwind.Interrupted, unwind.Likely},
		{"the same, and the frame further out is proven", unwind.MethodCFI, unwind.Executable | unwind.SPMonotonic | unwind.Interrupted | unwind.Corroborated, unwind.Certain},
		{"where the runtime began a thread", unwind.MethodCFI, unwind.Executable | unwind.SPMonotonic | unwind.ThreadStart | unwind.Corroborated, unwind.Certain},
		{"SP does not rise", unwind.MethodCFI, ordinary&^unwind.SPMonotonic | unwind.TargetMatches, unwind.Guess},
		{"the call goes elsewhere", unwind.MethodEHABI, ordinary | unwind.TargetDiffers | unwind.Corroborated, unwind.Guess},
		{"another stack than captured is a table's matter", unwind.MethodEHABI, ordinary&^unwind.SPInStack | unwind.TargetMatches, unwind.Certain},

		{"code analysis needs proof", unwind.MethodCode, ordinary | unwind.Corroborated, unwind.Likely},
		{"two derivations agree, the entry may be wrong", unwind.MethodCode, ordinary | unwind.MethodsAgree | unwind.Corroborated, unwind.Likely},
		{"a known entry alone", unwind.MethodCode, ordinary | unwind.EntryKnown | unwind.Corroborated, unwind.Likely},
		{"the same, corroborated by a frame that meets exactly", unwind.MethodCode, ordinary | unwind.MethodsAgree | unwind.FrameSize | unwind.Corroborated, unwind.Certain},
		{"where a thread began, by a rule that nothing confirms", unwind.MethodCode, ordinary | unwind.ThreadStart | unwind.Corroborated, unwind.Certain},
		{"a known entry of what never returns, corroborated", unwind.MethodCode, ordinary | unwind.EntryKnown | unwind.Unopposed | unwind.Corroborated, unwind.Certain},
		{"the same with a crooked SP", unwind.MethodCode, ordinary&^unwind.SPAligned | unwind.EntryKnown | unwind.Unopposed | unwind.Corroborated, unwind.Likely},
		{"the same, uncorroborated", unwind.MethodCode, ordinary | unwind.EntryKnown | unwind.Unopposed, unwind.Likely},
		{"a hint that all else speaks for", unwind.MethodCode, ordinary | unwind.EntryKnown | unwind.MethodsAgree | unwind.TargetMatches | unwind.Disputed, unwind.Likely},
		{"two derivations from a known entry agree", unwind.MethodCode, ordinary | unwind.MethodsAgree | unwind.EntryKnown, unwind.Likely},
		{"the same, corroborated", unwind.MethodCode, ordinary | unwind.MethodsAgree | unwind.EntryKnown | unwind.Corroborated, unwind.Certain},
		{"the same with a crooked SP", unwind.MethodCode, ordinary&^unwind.SPAligned | unwind.MethodsAgree | unwind.EntryKnown | unwind.Corroborated, unwind.Likely},
		{"the call's target matches what was derived", unwind.MethodCode, ordinary&^unwind.SPAligned | unwind.EntryKnown | unwind.TargetMatches, unwind.Certain},
		{"the call's target matches, nothing was derived", unwind.MethodCode, ordinary | unwind.TargetMatches, unwind.Likely},
		{"the call's target differs", unwind.MethodCode, ordinary | unwind.MethodsAgree | unwind.EntryKnown | unwind.TargetDiffers | unwind.Corroborated, unwind.Guess},
		{"outside the stack", unwind.MethodCode, ordinary&^unwind.SPInStack | unwind.MethodsAgree | unwind.EntryKnown | unwind.Corroborated, unwind.Guess},
		{"behind no call", unwind.MethodCode, ordinary&^unwind.CallBefore | unwind.NoCall | unwind.MethodsAgree | unwind.EntryKnown | unwind.Corroborated, unwind.Guess},

		{"a frame pointer behind a call", unwind.MethodFP, ordinary | unwind.Corroborated, unwind.Likely},
		{"the call's target matches", unwind.MethodFP, ordinary | unwind.TargetMatches, unwind.Likely},
		{"the call's target matches and another method agrees", unwind.MethodFP, ordinary | unwind.TargetMatches | unwind.MethodsAgree, unwind.Certain},
		{"a frame pointer out of the stack", unwind.MethodFP, ordinary &^ unwind.SPInStack, unwind.Guess},
		{"a scan never earns more", unwind.MethodScan, ordinary | unwind.Corroborated | unwind.TargetMatches | unwind.MethodsAgree | unwind.EntryKnown, unwind.Guess},
	} {
		if got := trustOf(c.method, c.checks); got != c.want {
			t.Errorf("%s: %v with %v is %v, want %v", c.what, c.method, c.checks, got, c.want)
		}
	}
}

// TestTrustIsMonotonic: evidence for a frame never lowers its trust, evidence
// against it never raises it; what speaks against it excludes certainty. Whatever set of the other
// checks a frame has, those that are not trustOf's matter change nothing: each check more that is
// would double the sets to look at.
func TestTrustIsMonotonic(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	const all = (unwind.ShadowDiffers<<1 - 1) &^ unwind.OnlyCaller
	const others = unwind.AtStart | unwind.ReturnHooked | unwind.LazyBinding | unwind.SoleCall | unwind.SeveralFit | unwind.ShadowMatches | unwind.ShadowDiffers
	const against = unwind.CodeMissing | unwind.TargetDiffers | unwind.NoCall | unwind.TargetUnclear | unwind.Disputed
	for _, m := range unwind.Methods() {
		for c := unwind.Checks(0); ; c = (c - (all &^ others)) & (all &^ others) { // the next subset
			trust := trustOf(m, c)
			if trust == unwind.Certain && m > unwind.MethodException && c&(unwind.TargetDiffers|unwind.NoCall) != 0 {
				t.Fatalf("%v with %v is certain", m, c)
			}
			if only := trustOf(m, c|unwind.OnlyCaller); only != unwind.Likely {
				t.Fatalf("%v with %v, the only caller, is %v", m, c, only)
			}
			if more := trustOf(m, c|others); more != trust {
				t.Fatalf("%v with %v is %v, with %v too it is %v", m, c, trust, others, more)
			}
			for rest := all &^ c; rest != 0; rest &= rest - 1 {
				one := rest & -rest
				more := trustOf(m, c|one)
				switch {
				case one == unwind.CodeMissing: // excuses that no call was seen
				case one&others != 0 && more != trust, one&against != 0 && more > trust, one&against == 0 && more < trust:
					t.Fatalf("%v with %v is %v, with %v too it is %v", m, c, trust, one, more)
				}
			}
			if c == all&^others {
				break
			}
		}
	}
}

// TestLimit: a limit lowers trust only, and its reason is that of the lowest; a second look at the checks does not lift
// it, a new judgement does.
func TestLimit(t *testing.T) {
	f := unwind.Frame{Method: unwind.MethodCode}
	SetChecks(&f, ordinary|unwind.TargetMatches|unwind.EntryKnown)
	step := func(what string, trust unwind.Trust, why unwind.Cap) {
		t.Helper()
		if f.Trust != trust || f.Cap != why {
			t.Errorf("%s: %v, %v; want %v, %v", what, f.Trust, f.Cap, trust, why)
		}
	}
	step("judged", unwind.Certain, unwind.NotCapped)
	LimitTrust(&f, unwind.Likely, unwind.CapDeadEnd)
	step("limited", unwind.Likely, unwind.CapDeadEnd)
	LimitTrust(&f, unwind.Certain, unwind.CapStale)
	step("not raised", unwind.Likely, unwind.CapDeadEnd)
	review(&f)
	step("reviewed", unwind.Likely, unwind.CapDeadEnd)
	LimitTrust(&f, unwind.Guess, unwind.CapStale)
	step("limited again", unwind.Guess, unwind.CapStale)
	SetChecks(&f, f.Checks)
	step("judged anew", unwind.Certain, unwind.NotCapped)
}
