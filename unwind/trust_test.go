package unwind

import "testing"

// The evidence of an ordinary frame: executable, after a call, higher, aligned and
// within the stack.
const ordinary = Executable | CallBefore | SPMonotonic | SPAligned | SPInStack

// TestTrust walks through the table in trustOf's comment, row by row.
func TestTrust(t *testing.T) {
	for _, c := range []struct {
		what   string
		method Method
		checks Checks
		want   Trust
	}{
		{"captured registers are what they are", MethodContext, 0, Certain},
		{"an interrupted PC in code that holds", MethodSigframe, Executable | Interrupted | Corroborated, Certain},
		{"nothing tells that it holds", MethodSigframe, Executable | Interrupted, Likely},
		{"a jump into nowhere was interrupted", MethodSigframe, Interrupted | Corroborated, Likely},
		{"a trampoline that the kernel wrote onto the stack", MethodSigframe, SPMonotonic | AtTrampoline | Corroborated, Certain},
		{"an exception frame", MethodException, Executable | Interrupted | Corroborated, Certain},

		{"a table's frame behind a call of the callee", MethodCFI, ordinary | TargetMatches, Certain},
		{"a table's frame behind a call", MethodCFI, ordinary, Likely},
		{"the same, and the frame further out is proven", MethodCFI, ordinary | Corroborated, Certain},
		{"a call that may come to the callee by a jump", MethodCFI, ordinary | TargetMatches | TargetUnclear, Likely},
		{"the same, corroborated", MethodCFI, ordinary | TargetMatches | TargetUnclear | Corroborated, Certain},
		{"a signal handler returns to its trampoline", MethodCFI, SPMonotonic | AtTrampoline | Corroborated, Certain},
		{"a trampoline that leads nowhere", MethodCFI, SPMonotonic | AtTrampoline, Likely},
		{"a table's frame in a file that is missing", MethodCFI, Executable | SPMonotonic | CodeMissing | Corroborated, Likely},
		{"a table's frame behind no call", MethodCFI, Executable | SPMonotonic | NoCall | Corroborated, Guess},
		{"code that a handler interrupted, as a table has it of Go's sigpanic", MethodCFI, Executable | SPMonotonic | Interrupted, Likely},
		{"the same, and the frame further out is proven", MethodCFI, Executable | SPMonotonic | Interrupted | Corroborated, Certain},
		{"where the runtime began a thread", MethodCFI, Executable | SPMonotonic | ThreadStart | Corroborated, Certain},
		{"SP does not rise", MethodCFI, ordinary&^SPMonotonic | TargetMatches, Guess},
		{"the call goes elsewhere", MethodEHABI, ordinary | TargetDiffers | Corroborated, Guess},
		{"another stack than captured is a table's matter", MethodEHABI, ordinary&^SPInStack | TargetMatches, Certain},

		{"code analysis needs proof", MethodCode, ordinary | Corroborated, Likely},
		{"two derivations agree, the entry may be wrong", MethodCode, ordinary | MethodsAgree | Corroborated, Likely},
		{"a known entry alone", MethodCode, ordinary | EntryKnown | Corroborated, Likely},
		{"the same, corroborated by a frame that meets exactly", MethodCode, ordinary | MethodsAgree | FrameSize | Corroborated, Certain},
		{"where a thread began, by a rule that nothing confirms", MethodCode, ordinary | ThreadStart | Corroborated, Certain},
		{"a known entry of what never returns, corroborated", MethodCode, ordinary | EntryKnown | Unopposed | Corroborated, Certain},
		{"the same with a crooked SP", MethodCode, ordinary&^SPAligned | EntryKnown | Unopposed | Corroborated, Likely},
		{"the same, uncorroborated", MethodCode, ordinary | EntryKnown | Unopposed, Likely},
		{"a hint that all else speaks for", MethodCode, ordinary | EntryKnown | MethodsAgree | TargetMatches | Disputed, Likely},
		{"two derivations from a known entry agree", MethodCode, ordinary | MethodsAgree | EntryKnown, Likely},
		{"the same, corroborated", MethodCode, ordinary | MethodsAgree | EntryKnown | Corroborated, Certain},
		{"the same with a crooked SP", MethodCode, ordinary&^SPAligned | MethodsAgree | EntryKnown | Corroborated, Likely},
		{"the call's target matches what was derived", MethodCode, ordinary&^SPAligned | EntryKnown | TargetMatches, Certain},
		{"the call's target matches, nothing was derived", MethodCode, ordinary | TargetMatches, Likely},
		{"the call's target differs", MethodCode, ordinary | MethodsAgree | EntryKnown | TargetDiffers | Corroborated, Guess},
		{"outside the stack", MethodCode, ordinary&^SPInStack | MethodsAgree | EntryKnown | Corroborated, Guess},
		{"behind no call", MethodCode, ordinary&^CallBefore | NoCall | MethodsAgree | EntryKnown | Corroborated, Guess},

		{"a frame pointer behind a call", MethodFP, ordinary | Corroborated, Likely},
		{"the call's target matches", MethodFP, ordinary | TargetMatches, Likely},
		{"the call's target matches and another method agrees", MethodFP, ordinary | TargetMatches | MethodsAgree, Certain},
		{"a frame pointer out of the stack", MethodFP, ordinary &^ SPInStack, Guess},
		{"a scan never earns more", MethodScan, ordinary | Corroborated | TargetMatches | MethodsAgree | EntryKnown, Guess},
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
	const all = (Checks(1)<<checkCount - 1) &^ OnlyCaller
	const others = AtStart | ReturnHooked | LazyBinding | SoleCall | SeveralFit | ShadowMatches | ShadowDiffers
	const against = CodeMissing | TargetDiffers | NoCall | TargetUnclear | Disputed
	for m := MethodContext; m < methodCount; m++ {
		for c := Checks(0); ; c = (c - (all &^ others)) & (all &^ others) { // the next subset
			trust := trustOf(m, c)
			if trust == Certain && m > MethodException && c&(TargetDiffers|NoCall) != 0 {
				t.Fatalf("%v with %v is certain", m, c)
			}
			if only := trustOf(m, c|OnlyCaller); only != Likely {
				t.Fatalf("%v with %v, the only caller, is %v", m, c, only)
			}
			if more := trustOf(m, c|others); more != trust {
				t.Fatalf("%v with %v is %v, with %v too it is %v", m, c, trust, others, more)
			}
			for rest := all &^ c; rest != 0; rest &= rest - 1 {
				one := rest & -rest
				more := trustOf(m, c|one)
				switch {
				case one == CodeMissing: // excuses that no call was seen
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

// TestNames: every value has a word of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	name := func(s string) {
		if s == "?" || s == "" || seen[s] {
			t.Errorf("name %q", s)
		}
		seen[s] = true
	}
	for m := MethodContext; m < methodCount; m++ {
		name(m.String())
	}
	for v := Found; v < verdictCount; v++ {
		name(v.String())
	}
	for r := StopRoot; r < stopCount; r++ {
		name(r.String())
	}
	for tr := Guess; tr <= Certain; tr++ {
		name(tr.String())
	}
	for _, n := range (^Checks(0)).Names() {
		name(n)
	}
	if methodCount.String() != "?" || verdictCount.String() != "?" || stopCount.String() != "?" {
		t.Error("values beyond the last have names")
	}
}

// TestLimit: a limit lowers trust only, and its reason is that of the lowest; a second look at the checks does not lift
// it, a new judgement does.
func TestLimit(t *testing.T) {
	f := Frame{Method: MethodCode}
	f.SetChecks(ordinary | TargetMatches | EntryKnown)
	step := func(what string, trust Trust, why Cap) {
		t.Helper()
		if f.Trust != trust || f.Cap != why {
			t.Errorf("%s: %v, %v; want %v, %v", what, f.Trust, f.Cap, trust, why)
		}
	}
	step("judged", Certain, NotCapped)
	f.LimitTrust(Likely, CapDeadEnd)
	step("limited", Likely, CapDeadEnd)
	f.LimitTrust(Certain, CapStale)
	step("not raised", Likely, CapDeadEnd)
	f.review()
	step("reviewed", Likely, CapDeadEnd)
	f.LimitTrust(Guess, CapStale)
	step("limited again", Guess, CapStale)
	f.SetChecks(f.Checks)
	step("judged anew", Certain, NotCapped)
}
