package stackwalk

import (
	"slices"

	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// corroborate looks back over a finished walk, which took for granted that every frame is
// corroborated, and says of each frame how sure it is. root: the stack was walked to its
// end. graph may be nil, and within know nothing of the stack.
func corroborate(frames []unwind.Frame, root bool, graph CallGraph, within *interiors) {
	first := firstInDoubt(frames)
	if first == 0 {
		return
	}
	if graph != nil {
		if f := &frames[len(frames)-1]; root && !f.Exact && !derivedFrame(f) && graph.EndsThread(f.Module, f.PC, f.Mode) {
			f.Checks |= unwind.ThreadStart
		}
		if root {
			proveByStart(frames, first, graph, within)
		}
		within.secondDerivations(frames, first)
		confirmInwards(frames, first, root)
		for i := max(first-1, 1); i < len(frames); i++ {
			settle(frames, i)
		}
	}
	passOutwards(frames[first-1:], within)
	if graph != nil {
		doubtInterrupted(frames[first:], graph)
	}
}

// firstInDoubt is the index of the first frame that needs a second look, 0 if no frame does. All
// frames before that frame are proven.
func firstInDoubt(frames []unwind.Frame) int {
	for i := 1; i < len(frames); i++ {
		if !beyondDoubt(&frames[i]) {
			return i
		}
	}
	return 0
}

// proveByStart finds the indirect call by which the C library calls main. The program's start
// hands main's address on, and calls lead straight from there to the function that calls a
// function through a pointer; if that function is main, then the call is that of main.
//
//	#4  _start               main's address goes to        the outermost frame
//	#3  __libc_start_main    ◄─ call __libc_start_main     proven
//	#2  call_main            ◄─ call call_main             proven
//	#1  main                 ◄─ call *%rax                 proven by #4
//
// That matters where #1 is in doubt, which does not pass on to #2 then, and where main's frame was
// not derived in two ways. main may be the innermost frame. In musl, __libc_start_main ends in a
// jump to the function that calls main: on i386 with the words that __libc_start_main was passed, main's
// address first.
func proveByStart(frames []unwind.Frame, first int, graph CallGraph, stack *interiors) {
	last := len(frames) - 1
	i, straight := last-1, true
	for i >= first && frames[i].Checks.Has(unwind.TargetMatches) {
		straight = straight && frames[i].Checks.Proven()
		i--
	}
	if i < first {
		return
	}
	f, main, start := &frames[i], &frames[i-1], &frames[last]
	const doubts = unwind.TargetUnclear | unwind.AtStart
	if straight && derivedFrame(f) && main.Trust == unwind.Certain && main.Checks&doubts == 0 {
		return
	}
	if !f.Checks.Has(unwind.CallBefore) || f.Checks&(targetChecks|unwind.TargetDiffers) != 0 || start.Module == nil || start.Module != main.Module ||
		!allStarting(frames[i+1:]) {
		return
	}
	handsOn := func(through unwind.Frame) bool {
		return graph.StartHandsOn(start.Module, start.CallSite, stack.firstPassed(&through), main.CallSite, main.Mode)
	}
	if !slices.ContainsFunc(frames[i:last], handsOn) {
		return
	}
	f.Checks |= unwind.TargetMatches | unwind.StartsMain
	for k := i + 1; k < last; k++ {
		if !frames[k].Checks.Proven() {
			frames[k].Checks |= unwind.StartsMain
		}
	}
}

// allStarting tells whether frames may lie between main and the program's start. By a wrong rule none
// would have led there; one rule will do behind a call that leads on by a jump: what calls main in musl
// never returns.
func allStarting(frames []unwind.Frame) bool {
	return !slices.ContainsFunc(frames, func(f unwind.Frame) bool {
		return !derivedFrame(&f) && !(ruledFrame(&f) && f.Checks.Has(unwind.TargetMatches|unwind.EntryKnown|unwind.FrameSize))
	})
}

// confirmInwards goes from the outermost frame inwards to the one at index first, and says
// which frames are corroborated.
//
//	#4  main            ◄─ call f: goes to #3's function            proven
//	#3  f               ◄─ call *%rax: unknown                      corroborated by #4:
//	#2  callback        ◄─ call g, which ends in jmp h              … and by #3
//	#1  h
//
// An indirect call before a return address proves nothing, nor does a call that comes to
// the callee by another function's jump. But the rule of the function there leads on; if
// the rule leads exactly to where a call of just that function returns, or through more
// such frames to a frame that is proven, the story holds together: where a return address
// was overwritten, another function's frame layout would be laid over the stack, and would
// not find such a place.
//
// A direct call that nobody can follow (unclear) lets a frame corroborate those that indirect
// calls led to, but not one behind a tail call: two unclear calls of one function are told
// apart by nothing, unless only one of its calls can have led to the callee (SoleCall). Nor does
// that frame let one corroborate of which nothing but SoleCall speaks.
//
// Stacks begin in few places (clone, _start), and a rule leads to one exactly, or to
// none: the outermost frame corroborates the frame that it called, start_thread, which
// nobody calls directly, and is itself taken for granted if that frame holds.
func confirmInwards(frames []unwind.Frame, first int, root bool) {
	last := len(frames) - 1
	root = root && !frames[last].Exact // no rule led to an interrupted frame
	corroborated, unclear := false, false
	for i := last; i >= first; i-- {
		f := &frames[i]
		if beyondDoubt(f) {
			corroborated, unclear = true, false
			continue
		}
		told := f.Checks & (unwind.TargetMatches | unwind.SoleCall)
		if corroborated && !f.Checks.Proven() && !(unclear && (told == unwind.TargetMatches || told == unwind.SoleCall)) {
			f.Checks |= unwind.Corroborated
		}
		corroborated = derivedFrame(f) && (corroborated || f.Checks.Proven() || root && i == last)
		unclear = f.Checks&targetChecks == unwind.TargetUnclear || unclear && !f.Checks.Proven()
	}
	if root && last > 0 && !frames[last].Checks.Proven() {
		frames[last].Checks |= unwind.Corroborated
	}
}

// called tells whether frame i, at whose PC a function begins, is the one that its call is in: the
// next frame's call goes straight to that function, whose size led there. A pointer to the
// function behind it would have to lie where another call of the same function had returned to.
// main's size need not be known: i386's aligns SP and keeps its CFA in its frame.
func called(frames []unwind.Frame, i int) bool {
	return onlyAtStart(&frames[i]) && i+1 < len(frames) && frames[i+1].Checks&(unwind.FrameSize|unwind.StartsMain) != 0 && frames[i+1].Checks.Proven()
}

// settle trusts the frame with index i by itself, after the second look.
func settle(frames []unwind.Frame, i int) {
	f := &frames[i]
	if f.Trust == unwind.Guess {
		return
	}
	if !beyondDoubt(f) {
		review(f)
	}
	outermost := i+1 == len(frames)
	switch {
	case f.Checks.Has(unwind.AtStart) && !called(frames, i):
		LimitTrust(f, unwind.Likely, unwind.CapAtStart)
	case !outermost && frames[i+1].Trust == unwind.Guess:
		LimitTrust(f, unwind.Likely, unwind.CapSearched)
	case !outermost && frames[i+1].Checks.Has(unwind.OnlyCaller|unwind.ReturnHooked):
		LimitTrust(f, unwind.Likely, unwind.CapTracer)
	}
}

// passOutwards hands doubts on, from each frame to those that were found from it, unless
// the next frame settles which function the doubtful one is of: that frame is proven, and
// the code or a table alone told the size of the frames on the way.
//
//	#5  main      ◄─ call f: goes to #4's function           certain again
//	#4  f         ◄─ call memcpy@plt: may have led to #3     in doubt
//	#3  callback
//
// What is doubtful of #4 is which call of f was running. Were #4 not f at all, another
// function's size would have been added to #3's CFA, and there would be no return address
// of a call of just that other function there. A size that code analysis reads from memory (the
// frame pointer's) tells less: the frame pointer may be another activation's. A table says where the
// frame pointer is the frame's own. And where the next frame is not proven, the other function's size
// may have led to some frame further out, from which all goes on as it should.
//
// Several doubts in a row are over at a proven frame, if tables say where each of the frames in doubt lies: only which
// calls they made is open. In Debian's ripgrep, a matcher that is called through a table of functions is followed by
// 17 frames whose calls go straight to one another.
//
// Nor does the doubt pass on where nothing was skipped on the way: see interiors.settle.
//
// Where no call goes to its callee for sure, nothing ends a doubt: in profiles, where calls are not looked into.
func passOutwards(frames []unwind.Frame, within *interiors) {
	trust := unwind.Certain
	ends := slices.ContainsFunc(frames, callsCallee)
	local := false // the last frame alone is in doubt, and not in its place
	placed := true // nor is any that is in doubt: tables say where all of them lie
	for i := range frames {
		f := &frames[i]
		if trust == unwind.Certain && f.Trust == unwind.Certain {
			local, placed = false, true
			continue
		}
		if !ends {
			LimitTrust(f, trust, unwind.CapInherited)
			trust = f.Trust
			continue
		}
		inTables := basisOf(f.Method) == inTable
		located := f.Checks.Has(unwind.FrameSize) || inTables
		if located && (local && settles(&frames[i-1], f) || placed && inTables && f.Checks.Proven()) {
			trust = unwind.Certain
		}
		local = trust == unwind.Certain && located && (derivedFrame(f) || ruledFrame(f))
		placed = placed && inTables && derivedFrame(f)
		if local && i > 0 && f.Trust < unwind.Certain && !f.Checks.Has(unwind.AtStart) && within.settle(frames, i) {
			continue
		}
		LimitTrust(f, trust, unwind.CapInherited)
		trust = f.Trust
	}
}

func callsCallee(f unwind.Frame) bool { return f.Checks.Has(unwind.TargetMatches) }

// settles tells whether next, which the size of doubtful's function led to, tells that doubtful is a
// frame of that function. A call that comes there by a jump tells that of a function that the call
// behind doubtful is known to be in: libcrypto's openssl_add_all_ciphers_int ends in a jump that
// leads to OBJ_NAME_add, and the frames between, of calls that came back, have the size of
// OBJ_NAME_add's. Where next is not proven, a size must have led there, of which no word was read from memory.
func settles(doubtful, next *unwind.Frame) bool {
	return next.Checks.Proven() || next.Checks.Has(unwind.FrameSize) &&
		(next.Checks.Has(unwind.TargetMatches) && doubtful.Checks.Proven() || next.Checks.Has(unwind.Corroborated) && onlyAtStart(doubtful))
}

// doubtInterrupted takes certainty away from interrupted frames, and from frames behind them, of which one
// damaged word makes others that look as good:
//
//   - an interrupted frame: nothing but a word of the signal or exception frame tells which
//     instruction of the function it was. Behind a system call a function is interrupted as
//     the system call returns (raise, sleep), and few functions have another system call;
//   - all frames that an interrupted frame leads to, where its caller is not proven: were the
//     PC that of a leaf function, the link register would be taken for the return address;
//     but the register still holds where an earlier call of the interrupted function
//     returned to, and there would be one frame too many;
//   - the same where the frame behind that is not proven: a leaf function's return address is
//     in the link register, and the saved SP is first read through one frame further out.
func doubtInterrupted(frames []unwind.Frame, graph CallGraph) {
	lost, shifted := false, false
	for i := range frames {
		f := &frames[i]
		second := i > 1 && frames[i-2].Exact && !frames[i-1].Exact
		shifted = shifted || (lost || second) && !f.Checks.Proven()
		lost = f.Exact && !graph.BehindSyscall(f.Module, f.PC, f.Mode)
		switch {
		case lost:
			LimitTrust(f, unwind.Likely, unwind.CapInterrupted)
		case shifted:
			LimitTrust(f, unwind.Likely, unwind.CapShifted)
		}
	}
}

// ending is how a walk ended. refuted: the last frame's rule led to no caller.
type ending struct {
	unwind.Stop
	refuted bool
}

// deadEnd tells whether the last frame's own rule led to nothing: then the frame may not be
// that of the function that its return address is in. Example: a signal handler ends in a
// jump to raise, whose return address then is the signal trampoline. Replaced by an address
// behind another call of raise, the return address names that call's function, which did
// call raise; but what lies on the stack is the signal frame, and the function's rule finds
// no return address there.
func (e ending) deadEnd() bool {
	switch e.Reason {
	case unwind.StopNullPC, unwind.StopNoProgress, unwind.StopLoop:
		return true
	case unwind.StopNoRule:
		return e.refuted
	}
	return false
}

// bindLazily finds the calls of imports that the dynamic linker was binding: nobody can follow a
// call through a GOT entry that is still to be filled, but the PLT has pushed which import it is.
//
//	#2  dl_runtime_resolve
//	#3  main                ◄─ call puts@plt, below which puts' number lies
//
// The stack decides, which caches of frames do not know.
func bindLazily(snap *target.Snapshot, frames []unwind.Frame, graph CallGraph) {
	for i := 1; i < len(frames); i++ {
		f, callee := &frames[i], &frames[i-1]
		if f.Checks&targetChecks != unwind.TargetUnclear || !callee.HasCFA {
			continue
		}
		site, kind := callsite.BeforeIn(snap, f.Module, f.PC, f.Mode)
		if kind == callsite.Call && site.Direct && graph.Binds(snap, site.Target, site.TargetMode, callee.CFA) {
			f.Checks = f.Checks&^unwind.TargetUnclear | unwind.TargetMatches | unwind.LazyBinding
		}
	}
}

// maxLeaving bounds the frames of a walk whose functions' calls are looked at.
const maxLeaving = 32

// leaveOthersOut looks at frames whose call may or may not have led to the callee: to a function that ends in
// a jump through a pointer, as far as code tells. Where no other call of the function can have led there,
// that call did, if the frame is of that function; the frame is then worth what a frame behind a call
// through a pointer is worth.
//
//	#3  f   ◄─ call g: to #2's function                     proven
//	#2  g   ◄─ call h: h jumps to wherever a pointer says   in doubt
//	#1  k                                                   no other call in g can lead to k
//
// Where the call comes to the callee by a jump, that matters only behind a frame that stays in doubt.
func leaveOthersOut(snap *target.Snapshot, frames []unwind.Frame, graph CallGraph) {
	left, unclear := maxLeaving, false
	for i := len(frames) - 1; i > 0; i-- {
		f := &frames[i]
		if f.Checks.Proven() {
			unclear = false
		}
		ask := f.Checks.Has(unwind.TargetUnclear) && derivedFrame(f) && (unclear || !f.Checks.Has(unwind.TargetMatches))
		if ask && left > 0 {
			left--
			if graph.SoleCall(snap, &frames[i-1], f) {
				f.Checks |= unwind.SoleCall
				if !f.Checks.Has(unwind.TargetMatches) {
					f.Checks &^= unwind.TargetUnclear
				}
			}
		}
		unclear = unclear || f.Checks&targetChecks == unwind.TargetUnclear
	}
}
