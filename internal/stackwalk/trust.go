package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// targetChecks are the checks of a call that decide whether it proves a frame.
const targetChecks = unwind.TargetMatches | unwind.TargetUnclear

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
	method unwind.Method
	flags  RuleFlags
	checks unwind.Checks
	confidence
	valid bool // nothing rules the candidate out; false: there is no candidate
	end   bool // the stack ends here
	// imageOnly: the code of the images decided about the call, and no word of the
	// capture, so that the same holds for every process that maps these images.
	imageOnly bool
	hooked    int // State.hooked of the caller
}

// LimitTrust makes the frame's trust t at most, and notes why, unless the trust was as low.
func LimitTrust(f *unwind.Frame, t unwind.Trust, why unwind.Cap) { lower(&f.Trust, &f.Cap, t, why) }

// confidence is how sure a candidate is, and why no surer.
type confidence struct {
	trust unwind.Trust
	cap   unwind.Cap
}

// limit is LimitTrust for a candidate.
func (c *confidence) limit(t unwind.Trust, why unwind.Cap) { lower(&c.trust, &c.cap, t, why) }

func lower(trust *unwind.Trust, cap *unwind.Cap, t unwind.Trust, why unwind.Cap) {
	if t < *trust {
		*trust, *cap = t, why
	}
}

// SetChecks gives the frame the checks, and the trust that they have.
func SetChecks(f *unwind.Frame, c unwind.Checks) {
	f.Checks, f.Trust, f.Cap = c, trustOf(f.Method, c), unwind.NotCapped
}

// judge gives the candidate the trust that its checks have, should the frames further out corroborate it.
func (e *evidence) judge() {
	e.trust, e.cap = trustOf(e.method, assumingCorroborated((e.checks&^(unwind.FrameSize|unwind.Unopposed)))), unwind.NotCapped
}

// ends makes the candidate the end of the stack, of which a source is as sure as that.
func (e *evidence) ends(t unwind.Trust) {
	e.end, e.trust, e.checks, e.cap = true, t, 0, unwind.NotCapped
}

// review is what the frame is trusted after the walk, by all that was found out by then. What was limited stays so.
func review(f *unwind.Frame) {
	limited, why := unwind.Certain, f.Cap
	if why != unwind.NotCapped {
		limited = f.Trust
	}
	SetChecks(f, f.Checks)
	LimitTrust(f, limited, why)
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
// passOutwards' matter. Others lower a frame's trust by LimitTrust, with the reason.
func trustOf(m unwind.Method, c unwind.Checks) unwind.Trust {
	switch {
	case c.Has(unwind.OnlyCaller):
		return unwind.Likely
	case c.Has(unwind.Disputed):
		return min(trustOf(m, c&^unwind.Disputed), unwind.Likely)
	}
	sound := c.Has(unwind.SPMonotonic) && c&(unwind.Executable|unwind.AtTrampoline) != 0 && c&(unwind.NoCall|unwind.TargetDiffers) == 0
	entered := c&(unwind.CallBefore|unwind.AtTrampoline) != 0
	switch m {
	case unwind.MethodContext:
		return unwind.Certain
	case unwind.MethodSigframe, unwind.MethodException:
		return pick(c.Has(unwind.Corroborated) && c&(unwind.Executable|unwind.AtTrampoline) != 0, true)
	case unwind.MethodCFI, unwind.MethodEHABI, unwind.MethodCompact:
		entered = entered || c&(unwind.Interrupted|unwind.ThreadStart) != 0
		return pick(sound && entered && confirmed(c), sound && (entered || c.Has(unwind.CodeMissing)))
	case unwind.MethodCode:
		// Assembly does not always keep the ABI's stack alignment
		// (__aeabi_idivmod pushes three words).
		sound = sound && c.Has(unwind.SPInStack) && entered
		return pick(sound && derived(c) && confirmed(c), sound)
	case unwind.MethodFP:
		sound = sound && entered && c.Has(unwind.SPInStack)
		return pick(sound && c.Proven() && c.Has(unwind.TargetMatches|unwind.MethodsAgree), sound)
	case unwind.MethodShadow:
		sound = c.Has(unwind.Executable) && c&(unwind.NoCall|unwind.TargetDiffers) == 0
		return pick(sound && entered && c.Has(unwind.Corroborated), sound && entered)
	case unwind.MethodPrewalked:
		return pick(false, c&(unwind.Executable|unwind.CodeMissing|unwind.AtTrampoline) != 0 && c&(unwind.NoCall|unwind.TargetDiffers) == 0)
	}
	return unwind.Guess
}

// derived tells whether a frame of code analysis was derived well enough to be certain,
// something confirming its return address. Behind a call that names the callee's entry
// either derivation will do. Else the entry may be wrong, and two must agree; or the frame's
// size follows from the code alone, and the ways out confirm it or do not exist: main, whose
// address _start passes on, and which ends in exit. Where a thread began, no wrong rule would
// have found. That is too little behind a call that
// comes to the callee by a jump: memcpy's stub, of which each call of its function looks alike.
func derived(c unwind.Checks) bool {
	switch {
	case c&(unwind.ThreadStart|unwind.StartsMain) != 0:
		return true
	case c.Proven() || c&unwind.AtTrampoline != 0:
		return c&(unwind.MethodsAgree|unwind.EntryKnown) != 0
	case !c.Has(unwind.SPAligned):
		return false
	case c.Has(unwind.MethodsAgree | unwind.EntryKnown):
		return true
	}
	return c.Has(unwind.FrameSize|unwind.MethodsAgree) || c.Has(unwind.EntryKnown|unwind.Unopposed) && c&unwind.TargetUnclear == 0
}

// beyondDoubt tells whether a frame needs no second look: it is certain and proven, and nothing speaks against it.
func beyondDoubt(f *unwind.Frame) bool {
	return f.Trust == unwind.Certain && f.Checks&(targetChecks|unwind.AtStart|unwind.Disputed) == unwind.TargetMatches
}

// confirmed tells whether something confirms the return address. A direct call to nobody
// knows where cannot be corroborated: another call in the same function would lead on as
// well.
func confirmed(c unwind.Checks) bool {
	return c.Proven() || c.Has(unwind.Corroborated) && c&targetChecks != unwind.TargetUnclear
}

// assumingCorroborated are the checks of a frame while the walk goes on; corroborate has
// the last word.
func assumingCorroborated(c unwind.Checks) unwind.Checks {
	if c&targetChecks == unwind.TargetUnclear {
		c &^= unwind.TargetUnclear
	}
	return c | unwind.Corroborated
}

func pick(certain, likely bool) unwind.Trust {
	switch {
	case certain:
		return unwind.Certain
	case likely:
		return unwind.Likely
	}
	return unwind.Guess
}

// derivedFrame tells whether nothing but the call before its PC makes a frame doubtful: the
// rule that found the frame would do for a certain one.
func derivedFrame(f *unwind.Frame) bool {
	return f.Trust != unwind.Guess && f.Checks&(unwind.NoCall|unwind.TargetDiffers) == 0 &&
		trustOf(f.Method, assumingCorroborated(f.Checks)) == unwind.Certain
}

// ruledFrame tells whether a rule that nothing confirms, but nothing speaks against either, led to
// a frame. A wrong rule finds no place from which the next leads to a call of just that frame's
// function.
func ruledFrame(f *unwind.Frame) bool {
	return f.Trust == unwind.Likely && f.Method == unwind.MethodCode && f.Checks&(unwind.Disputed|unwind.NoCall|unwind.TargetDiffers) == 0
}

// onlyAtStart tells whether a frame is proven, and in doubt only because its return address may
// be a pointer to the function that begins there. For such a pointer to be taken for the frame
// of the function in front, that function must end in a call of the callee, and its size lead to
// where a call returns, from which all goes on to a proven frame: busybox's main, which ends in
// a call of what runs the applet.
func onlyAtStart(f *unwind.Frame) bool {
	return f.Checks.Has(unwind.AtStart) && f.Checks.Proven() && derivedFrame(f)
}
