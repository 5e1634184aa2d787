package unwind

import "strings"

// Checks is the evidence for (and against) a frame.
type Checks uint16

const (
	// Executable: the PC lies in executable memory.
	Executable Checks = 1 << iota
	// CallBefore: the PC follows a call instruction.
	CallBefore
	// TargetMatches: that call goes to the function that the callee runs in.
	TargetMatches
	// SPMonotonic: the CFA lies above the callee's SP.
	SPMonotonic
	// SPAligned: the CFA has the ABI's stack alignment.
	SPAligned
	// SPInStack: the CFA lies in the captured stack.
	SPInStack
	// MethodsAgree: a second, independent derivation gave the same.
	MethodsAgree
	// Interrupted: the PC is exact, restored from a signal or exception frame.
	Interrupted
	// AtLandmark: the PC is a signal trampoline, entered without a call.
	AtLandmark
	// EntryFound: the callee's function entry is known and the rule follows
	// from it.
	EntryFound
	// CodeMissing: no code bytes were there to check against.
	CodeMissing
	// TargetDiffers: the call before the PC goes somewhere else. Against.
	TargetDiffers
	// NoCall: no call instruction stands before the PC. Against.
	NoCall
	// Searched: found by searching the stack after derivations were refuted.
	Searched
	checkCount = iota
)

var checkNames = [checkCount]string{"executable", "call-before", "target-matches", "sp-monotonic", "sp-aligned", "sp-in-stack",
	"methods-agree", "interrupted", "landmark", "entry-known", "code-missing", "target-differs", "no-call", "searched"}

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

func (c Checks) has(all Checks) bool { return c&all == all }

// Trust is how sure a frame is.
type Trust uint8

// The trust levels, rising.
const (
	Guess Trust = iota
	Likely
	Certain
)

func (t Trust) String() string { return [...]string{"guess", "likely", "certain"}[min(t, Certain)] }

// trustOf is the whole of what a frame's trust depends on: how it was found and
// what speaks for and against it.
//
//	method                      certain                                    likely                        else
//	context                     always
//	sigframe, exception         executable PC                              any other PC                  –
//	cfi, ehabi, compact, table  after a call or landmark, SP rises         no code to check              guess
//	code                        from a known entry or by two derivations   after a call, SP rises,       guess
//	                            that agree, and the call's target matches  nothing against it
//	                            or both hold and SP is aligned
//	fp                          after a call whose target matches          after a call, SP rises        guess
//	scan                        never                                      never                         guess
func trustOf(m Method, c Checks) Trust {
	sound := c.has(SPMonotonic) && c&(Executable|AtLandmark) != 0 && c&(NoCall|TargetDiffers) == 0
	entered := c&(CallBefore|AtLandmark) != 0
	switch m {
	case MethodContext:
		return Certain
	case MethodSigframe, MethodException:
		return pick(c.has(Executable), true)
	case MethodCFI, MethodEHABI, MethodCompact, MethodTable:
		return pick(sound && entered, sound && c&CodeMissing != 0)
	case MethodCode:
		// Assembly does not always keep the ABI's stack alignment
		// (__aeabi_idivmod pushes three words).
		sound = sound && c.has(SPInStack) && entered
		derived := c&(MethodsAgree|EntryFound) != 0
		proof := derived && c&(TargetMatches|AtLandmark) != 0 || c.has(MethodsAgree|EntryFound|SPAligned)
		return pick(sound && proof && c&Searched == 0, sound)
	case MethodFP:
		sound = sound && entered && c.has(SPInStack)
		return pick(sound && c.has(TargetMatches|MethodsAgree), sound)
	}
	return Guess
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
