package unwind

import (
	"strings"
)

// Checks is the evidence for (and against) a frame.
type Checks uint32

// checkNames are the checks' names, and what they say of a frame in words.
var checkNames = [checkCount]struct{ name, means string }{
	{"executable", "the address lies in code"},
	{"call-before", "a call stands before it"},
	{"target-matches", "that call goes to the function of the frame before"},
	{"sp-monotonic", "the frame lies further out on the stack"},
	{"sp-aligned", "its stack pointer is aligned as the ABI asks"},
	{"sp-in-stack", "its stack pointer lies in the stack that was captured"},
	{"methods-agree", "two methods agree"},
	{"interrupted", "a signal, exception or interrupt saved the address"},
	{"trampoline", "it is where handlers of signals return to"},
	{"entry-known", "the entry of the function of the frame before is known"},
	{"code-missing", "the code there is missing, so that no call can be looked for"},
	{"target-differs", "against: the call before it goes elsewhere"},
	{"no-call", "against: no call stands before it"},
	{"target-unclear", "against: where the call before it leads is not clear"},
	{"corroborated", "it leads exactly to a frame that is proven, or to where stacks begin"},
	{"frame-size", "the code or the table tells the size of the frame before"},
	{"unopposed", "no way to a return was found that would speak for it or against it"},
	{"disputed", "against: the rule is a hint, or code and table contradict each other"},
	{"function-start", "against: a function begins there"},
	{"thread-start", "the thread began here"},
	{"return-hooked", "a tracer kept the return address"},
	{"lazy-binding", "the call before it binds an import"},
	{"starts-main", "it starts main"},
	{"only-caller", "of all calls only the one before it fits what was captured"},
	{"sole-call", "no other call can have led to the frame before"},
	{"several-fit", "other calls fit as well"},
	{"shadow-matches", "the shadow stack keeps the same address"},
	{"shadow-differs", "against: the shadow stack keeps another address"},
}

// Means lists what the checks say in words, in a fixed order.
func (c Checks) Means() []string {
	var out []string
	for i := range checkNames {
		if c>>i&1 != 0 {
			out = append(out, checkNames[i].means)
		}
	}
	return out
}

// Names lists the checks' names in a fixed order.
func (c Checks) Names() []string {
	var out []string
	for i := range checkNames {
		if c>>i&1 != 0 {
			out = append(out, checkNames[i].name)
		}
	}
	return out
}

func (c Checks) String() string { return strings.Join(c.Names(), ",") }

// Has tells whether c has all of some checks.
func (c Checks) Has(all Checks) bool { return c&all == all }

// Trust is how sure a frame is.
type Trust uint8

func (t Trust) String() string { return [...]string{"guess", "likely", "certain"}[min(t, Certain)] }

// Cap is why a frame is trusted less than what speaks for and against it alone would have it.
type Cap uint8

var capTexts = [capCount]string{
	CapInherited:     "a frame further in is in doubt",
	CapStale:         "the registers are older than the stack",
	CapDeadEnd:       "the frame's own rule leads to no caller",
	CapOneDerivation: "one derivation alone leads there, and another could not be tried or failed",
	CapUnchecked:     "nothing in the code confirms what the table says, or to look would have cost too much",
	CapContradicted:  "the code and the table contradict each other",
	CapAtStart:       "a function begins at the address, which may be a pointer to that function",
	CapSearched:      "only a search of the stack leads on",
	CapTracer:        "the caller stands where a tracer has its own address",
	CapInterrupted:   "a single saved word tells where the frame was interrupted",
	CapShifted:       "behind an interrupted frame whose caller nothing proves",
	CapOtherThread:   "other threads' frames, or where the stack lies, speak against the frame",
	CapBeyondStack:   "the frames lead out of the thread's stack",
	CapNamed:         "a name alone states the place, and the file may be of another build",
	CapOtherChain:    "the frame may be of another chain that was printed into this one",
	CapGap:           "another frame may lie between, or code speaks against the call",
	CapSeveralFit:    "what was captured leaves other chains as well",
}

func (c Cap) String() string { return capTexts[min(c, capCount-1)] }

// Proven tells whether the frame's own return address has a witness: it follows a
// call that goes straight to the callee's function.
func (c Checks) Proven() bool { return c&(TargetMatches|TargetUnclear) == TargetMatches }

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
	// program's start (in glibc, within __libc_start_main); or the frame lies between that call and the
	// start, where calls lead on by jumps.
	StartsMain
	// OnlyCaller: the return address was not captured, or is a tracer's, and of all calls of the callee's
	// function the one before the PC is the only one that what was captured does not contradict.
	OnlyCaller
	// SoleCall: of all calls of its function only the one before the PC can have led to the callee.
	SoleCall
	// SeveralFit: as OnlyCaller, but calls of other functions fit as well. A guess.
	SeveralFit
	// ShadowMatches: the return address is the one that a shadow stack keeps, and Corroborated by that.
	ShadowMatches
	// ShadowDiffers: a shadow stack keeps another return address; with Disputed.
	ShadowDiffers
	checkCount = iota
)

// The trust levels, rising. Certain means: given that memory holds what the program wrote there, no other frame can
// stand here. A walk cannot see that a return address was overwritten by another one that the program could have left
// in the same place.
const (
	Guess Trust = iota
	Likely
	Certain
)

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
	CapBeyondStack
	CapNamed
	CapOtherChain
	CapGap
	CapSeveralFit
	capCount
)
