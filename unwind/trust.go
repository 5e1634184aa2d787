package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// evidence is what is found out about a candidate. Addresses are target addresses
// unless the field says otherwise.
type evidence struct {
	raw    uint64 // the PC as recovered, ISA mode bit included
	pc     uint64
	site   uint64 // the address to look up, see Frame.CallSite
	entry  uint64 // where the call before pc goes, if that is the callee's function; else 0
	start  uint64 // Rule.Start, an image address of the callee's module
	module *target.Module
	mode   cpu.Mode
	method Method
	flags  RuleFlags
	checks Checks
	confidence
	valid bool // nothing rules the candidate out; false: there is no candidate
	end   bool // the stack ends here
	// imageOnly: the code of the images decided about the call, and no word of the
	// capture, so that the same holds for every process that maps these images.
	imageOnly bool
	hooked    int // State.hooked of the caller
}

// LimitTrust makes the frame's trust t at most, and notes why, unless the trust was as low.
func (f *Frame) LimitTrust(t Trust, why Cap) { lower(&f.Trust, &f.Cap, t, why) }

// confidence is how sure a candidate is, and why no surer.
type confidence struct {
	trust Trust
	cap   Cap
}

// limit is Frame.LimitTrust for a candidate.
func (c *confidence) limit(t Trust, why Cap) { lower(&c.trust, &c.cap, t, why) }

func lower(trust *Trust, cap *Cap, t Trust, why Cap) {
	if t < *trust {
		*trust, *cap = t, why
	}
}

// SetChecks gives the frame the checks, and the trust that they have.
func (f *Frame) SetChecks(c Checks) { f.Checks, f.Trust, f.Cap = c, trustOf(f.Method, c), NotCapped }

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
	f.SetChecks(f.Checks)
	f.LimitTrust(limited, why)
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
//	shadow                after a call; corroborated            after a call             guess
//	prewalked             never                                 nothing against it       guess
//
// Disputed evidence is never certain; of a caller whose return address was not captured the calls of the callee's
// function decide (OnlyCaller). How a doubt passes on to the frames that were found from the doubtful one is
// passOutwards' matter. Others lower a frame's trust by Frame.LimitTrust, with the reason.
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
	case MethodShadow:
		sound = c.Has(Executable) && c&(NoCall|TargetDiffers) == 0
		return pick(sound && entered && c.Has(Corroborated), sound && entered)
	case MethodPrewalked:
		return pick(false, c&(Executable|CodeMissing|AtTrampoline) != 0 && c&(NoCall|TargetDiffers) == 0)
	}
	return Guess
}

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

// derived tells whether nothing but the call before its PC makes a frame doubtful: the
// rule that found the frame would do for a certain one.
func (f *Frame) derived() bool {
	return f.Trust != Guess && f.Checks&(NoCall|TargetDiffers) == 0 &&
		trustOf(f.Method, f.Checks.assumingCorroborated()) == Certain
}

// ruled tells whether a rule that nothing confirms, but nothing speaks against either, led to
// a frame. A wrong rule finds no place from which the next leads to a call of just that frame's
// function.
func (f *Frame) ruled() bool {
	return f.Trust == Likely && f.Method == MethodCode && f.Checks&(Disputed|NoCall|TargetDiffers) == 0
}

// onlyAtStart tells whether a frame is proven, and in doubt only because its return address may
// be a pointer to the function that begins there. For such a pointer to be taken for the frame
// of the function in front, that function must end in a call of the callee, and its size lead to
// where a call returns, from which all goes on to a proven frame: busybox's main, which ends in
// a call of what runs the applet.
func (f *Frame) onlyAtStart() bool {
	return f.Checks.Has(AtStart) && f.Checks.Proven() && f.derived()
}
