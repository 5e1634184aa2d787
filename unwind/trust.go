package unwind

import "strings"

// Checks is the evidence for (and against) a frame.
type Checks uint32

const (
	// Executable: the PC lies in executable memory.
	Executable Checks = 1 << iota
	// CallBefore: the PC follows a call instruction.
	CallBefore
	// TargetMatches: the call before the PC goes to the function that the callee runs in.
	TargetMatches
	// SPMonotonic: the CFA lies above the callee's SP.
	SPMonotonic
	// SPAligned: the CFA has the ABI's stack alignment.
	SPAligned
	// SPInStack: the CFA lies in the captured stack.
	SPInStack
	// MethodsAgree: a second, independent derivation gave the same caller. That may be a search
	// of the stack.
	MethodsAgree
	// Interrupted: the PC is exact, restored from a signal or exception frame.
	Interrupted
	// AtTrampoline: the PC is a signal trampoline, entered without a call.
	AtTrampoline
	// EntryKnown: the entry of the callee's function is known, and the rule follows from
	// the entry.
	EntryKnown
	// CodeMissing: the code before the PC is missing, and with it all checks of calls.
	CodeMissing
	// TargetDiffers: the call before the PC goes somewhere else. Against.
	TargetDiffers
	// NoCall: no call instruction stands before the PC. Against.
	NoCall
	// TargetUnclear: the call before the PC is direct, but leads to the callee's function
	// by way of other functions that end in a jump (then with TargetMatches), or where it
	// leads is not known. Against.
	TargetUnclear
	// Corroborated: the call before the PC proves nothing, but the frame leads exactly to
	// a frame that is proven, or to where stacks begin.
	Corroborated
	// FrameSize: the code or the table tells the size of the callee's frame, and no word of
	// the stack was read for the CFA.
	FrameSize
	// Unopposed: no way from the callee's PC to a return was found, which would confirm or
	// contradict what follows from the entry.
	Unopposed
	// Disputed: the rule is only a hint, or the code and a table contradict each other.
	// Against.
	Disputed
	// AtStart: a function begins at the PC, so that a pointer to that function looks like
	// the return address of a call that never returns. Against.
	AtStart
	// ThreadStart: the thread began in this frame. What its call returns ends the thread, and
	// only the first words of a thread's stack hold such a return address.
	ThreadStart
	// ReturnHooked: a tracer had replaced the return address, and kept the original.
	ReturnHooked
	// LazyBinding: the callee is the dynamic linker, entered to bind an import: the one whose PLT
	// stub the call before the PC goes to, as the word says that the PLT pushed.
	LazyBinding
	// StartsMain: the callee runs in main, and the call before the PC is the call of main in the
	// program's start (in glibc, within __libc_start_main).
	StartsMain
	// OnlyCaller: the return address was not captured, or is a tracer's, and of all calls of the callee's
	// function the one before the PC is the only one that what was captured does not contradict.
	OnlyCaller
	// SoleCall: of all calls of its function only the one before the PC can have led to the callee.
	SoleCall
	// SeveralFit: as OnlyCaller, but calls of other functions fit as well. A guess.
	SeveralFit
	checkCount = iota
)

var checkNames = [checkCount]string{"executable", "call-before", "target-matches", "sp-monotonic", "sp-aligned", "sp-in-stack",
	"methods-agree", "interrupted", "trampoline", "entry-known", "code-missing", "target-differs", "no-call",
	"target-unclear", "corroborated", "frame-size", "unopposed", "disputed", "function-start", "thread-start",
	"return-hooked", "lazy-binding", "starts-main", "only-caller", "sole-call", "several-fit"}

// Names lists the checks' names in a fixed order.
func (c Checks) Names() []string {
	var out []string
	for i, n := range checkNames {
		if c>>i&1 != 0 {
			out = append(out, n)
		}
	}
	return out
}

func (c Checks) String() string { return strings.Join(c.Names(), ",") }

// Has tells whether c has all of some checks.
func (c Checks) Has(all Checks) bool { return c&all == all }

// Trust is how sure a frame is.
type Trust uint8

// The trust levels, rising. Certain means: given that memory holds what the program wrote there, no other frame can
// stand here. A walk cannot see that a return address was overwritten by another one that the program could have left
// in the same place.
const (
	Guess Trust = iota
	Likely
	Certain
)

func (t Trust) String() string { return [...]string{"guess", "likely", "certain"}[min(t, Certain)] }

// Cap is why a frame is trusted less than what speaks for and against it alone would have it.
type Cap uint8

// The reasons.
const (
	NotCapped Cap = iota
	CapInherited
	CapStale
	CapDeadEnd
	CapOneDerivation
	CapUnchecked
	CapContradicted
	CapAtStart
	CapSearched
	CapTracer
	CapInterrupted
	CapShifted
	CapOtherThread
	CapNamed
	CapOtherChain
	CapGap
	CapSeveralFit
	capCount
)

var capTexts = [capCount]string{
	CapInherited:     "a frame further in is in doubt",
	CapStale:         "the registers are older than the stack",
	CapDeadEnd:       "the frame's own rule leads to no caller",
	CapOneDerivation: "one derivation alone leads there, and another could not be tried or failed",
	CapUnchecked:     "the walk has cost too much to compare the table with the code",
	CapContradicted:  "the code and the table contradict each other",
	CapAtStart:       "a function begins at the address, which may be a pointer to that function",
	CapSearched:      "only a search of the stack leads on",
	CapTracer:        "the caller stands where a tracer has its own address",
	CapInterrupted:   "a single saved word tells where the frame was interrupted",
	CapShifted:       "behind an interrupted frame whose caller nothing proves",
	CapOtherThread:   "other threads' frames, or where the stack lies, speak against the frame",
	CapNamed:         "a name alone states the place, and the file may be of another build",
	CapOtherChain:    "the frame may be of another chain that was printed into this one",
	CapGap:           "another frame may lie between, or code speaks against the call",
	CapSeveralFit:    "what was captured leaves other chains as well",
}

func (c Cap) String() string { return capTexts[min(c, capCount-1)] }

// Limit makes the frame's trust t at most, and notes why, unless the trust was as low.
func (f *Frame) Limit(t Trust, why Cap) { limit(&f.Trust, &f.Cap, t, why) }

// limit is Frame.Limit for a candidate.
func (e *evidence) limit(t Trust, why Cap) { limit(&e.trust, &e.cap, t, why) }

func limit(trust *Trust, cap *Cap, t Trust, why Cap) {
	if t < *trust {
		*trust, *cap = t, why
	}
}

// Judge gives the frame the checks, and the trust that they have.
func (f *Frame) Judge(c Checks) { f.Checks, f.Trust, f.Cap = c, trustOf(f.Method, c), NotCapped }

// judge gives the candidate the trust that its checks have, should the frames further out corroborate it.
func (e *evidence) judge() {
	e.trust, e.cap = trustOf(e.method, (e.checks&^(FrameSize|Unopposed)).assumingCorroborated()), NotCapped
}

// ends makes the candidate the end of the stack, of which a source is as sure as that.
func (e *evidence) ends(t Trust) { e.end, e.trust, e.checks, e.cap = true, t, 0, NotCapped }

// review is what the frame is trusted after the walk, by all that was found out by then. What was limited stays so.
func (f *Frame) review() {
	limited, why := Certain, f.Cap
	if why != NotCapped {
		limited = f.Trust
	}
	f.Judge(f.Checks)
	f.Limit(limited, why)
}

// trustOf is the whole of what a frame's trust depends on: how it was found and
// what speaks for and against it. A return address in memory can be any value, so
// that certainty takes a witness for it beside the rule that found it: the call
// before the return address goes to the callee's function (proven), or what the frame
// leads to is itself proven (Corroborated, see confirmInwards). An
// interrupted frame's PC is looked at when the walk is over, see doubtInterrupted.
//
//	method                certain                               likely                   else
//	context               always
//	sigframe, exception   executable or a trampoline,           always                   –
//	                      corroborated
//	cfi, ehabi, compact   after a call, interrupted or where    no witness, or no code   guess
//	                      a thread starts, SP rises; proven     to check
//	                      or corroborated
//	code                  the same, and derived well enough     after a call, SP rises,  guess
//	                      (Checks.derived)                      nothing against it
//	fp                    after a call whose target matches     after a call, SP rises   guess
//	                      and another method agrees
//	scan                  never                                 never                    guess
//	prewalked             never                                 nothing against it       guess
//
// Disputed evidence is never certain; of a caller whose return address was not captured the calls of the callee's
// function decide (OnlyCaller). How a doubt passes on to the frames that were found from the doubtful one is
// passOutwards' matter. Others lower a frame's trust by Frame.Limit, with the reason.
func trustOf(m Method, c Checks) Trust {
	switch {
	case c.Has(OnlyCaller):
		return Likely
	case c.Has(Disputed):
		return min(trustOf(m, c&^Disputed), Likely)
	}
	sound := c.Has(SPMonotonic) && c&(Executable|AtTrampoline) != 0 && c&(NoCall|TargetDiffers) == 0
	entered := c&(CallBefore|AtTrampoline) != 0
	switch m {
	case MethodContext:
		return Certain
	case MethodSigframe, MethodException:
		return pick(c.Has(Corroborated) && c&(Executable|AtTrampoline) != 0, true)
	case MethodCFI, MethodEHABI, MethodCompact:
		entered = entered || c&(Interrupted|ThreadStart) != 0
		return pick(sound && entered && c.confirmed(), sound && (entered || c.Has(CodeMissing)))
	case MethodCode:
		// Assembly does not always keep the ABI's stack alignment
		// (__aeabi_idivmod pushes three words).
		sound = sound && c.Has(SPInStack) && entered
		return pick(sound && c.derived() && c.confirmed(), sound)
	case MethodFP:
		sound = sound && entered && c.Has(SPInStack)
		return pick(sound && c.Proven() && c.Has(TargetMatches|MethodsAgree), sound)
	case MethodPrewalked:
		return pick(false, c&(Executable|CodeMissing|AtTrampoline) != 0 && c&(NoCall|TargetDiffers) == 0)
	}
	return Guess
}

// targetChecks are the checks of a call that decide whether it proves a frame.
const targetChecks = TargetMatches | TargetUnclear

// derived tells whether a frame of code analysis was derived well enough to be certain,
// something confirming its return address. Behind a call that names the callee's entry
// either derivation will do. Else the entry may be wrong, and two must agree; or the frame's
// size follows from the code alone, and the ways out confirm it or do not exist: main, whose
// address _start passes on, and which ends in exit. Where a thread began, no wrong rule would
// have found. That is too little behind a call that
// comes to the callee by a jump: memcpy's stub, of which each call of its function looks alike.
func (c Checks) derived() bool {
	switch {
	case c&(ThreadStart|StartsMain) != 0:
		return true
	case c.Proven() || c&AtTrampoline != 0:
		return c&(MethodsAgree|EntryKnown) != 0
	case !c.Has(SPAligned):
		return false
	case c.Has(MethodsAgree | EntryKnown):
		return true
	}
	return c.Has(FrameSize|MethodsAgree) || c.Has(EntryKnown|Unopposed) && c&TargetUnclear == 0
}

// needsNoSecondLook tells whether the frame is proven, and nothing speaks against it.
func (c Checks) needsNoSecondLook() bool {
	return c&(targetChecks|AtStart|Disputed) == TargetMatches
}

// Proven tells whether the frame's own return address has a witness: it follows a
// call that goes straight to the callee's function.
func (c Checks) Proven() bool { return c&targetChecks == TargetMatches }

// confirmed tells whether something confirms the return address. A direct call to nobody
// knows where cannot be corroborated: another call in the same function would lead on as
// well.
func (c Checks) confirmed() bool {
	return c.Proven() || c.Has(Corroborated) && c&targetChecks != TargetUnclear
}

// assumingCorroborated are the checks of a frame while the walk goes on; corroborate has
// the last word.
func (c Checks) assumingCorroborated() Checks {
	if c&targetChecks == TargetUnclear {
		c &^= TargetUnclear
	}
	return c | Corroborated
}

func pick(certain, likely bool) Trust {
	switch {
	case certain:
		return Certain
	case likely:
		return Likely
	}
	return Guess
}
