package stackwalk

import (
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// interiors looks for return addresses within frames. snap may be nil: nothing is known then; and
// graph: all return addresses are alike.
type interiors struct {
	snap    *target.Snapshot
	graph   CallGraph
	repeats unwind.Repeats
	asked   int // about old return addresses, and calls that may lead on by a jump
}

// How far nothing may have been skipped: so many frames, of so many bytes each.
const maxSettling, maxInterior = 16, 8 << 10

// maxAsked bounds the old return addresses and calls of a walk that code is asked about.
const maxAsked = 128

// settle tells whether the frames that follow from frame i are frames, whatever call of which
// function frame i itself is. From there sizes that code or tables tell lead from return address
// to return address, up to one behind a call straight to the function of the frame before, and no
// other word on the way can be the return address of the function that i may be a frame of.
//
//	#4  g     ◄─ call f: goes to #3's function              proven
//	#3  f     ◄─ call *%rax                                 sound, as the next two are
//	#2  h     ◄─ call k@plt: may have led to #1             in doubt
//	#1  …
//
// Were #2 another function, with a larger frame than h, then h's size would have led over that
// function's own return address, and a word in h's frame would be one; with a smaller frame, h's
// would end among that function's locals, and the return address would stand further out, in
// the frame of #3 or on. An old return address that a call left is told from that function's by the
// place: behind a call straight to f it can be f's only, and f keeps its own elsewhere.
func (n *interiors) settle(frames []unwind.Frame, i int) bool {
	last := i + 1
	for ; ; last++ {
		if last == len(frames) || last > i+maxSettling || frames[last].Exact || !frames[last].Checks.Has(unwind.FrameSize) || !derivedFrame(&frames[last]) {
			return false
		}
		switch frames[last].Checks & targetChecks {
		case unwind.TargetMatches:
		case unwind.TargetUnclear:
			if !n.jumps(&frames[last-1], &frames[last]) {
				return false // a direct call elsewhere, as far as anyone knows
			}
			continue
		default:
			continue
		}
		break
	}
	sp := n.below(frames, i, 1)
	for ; i < last; i++ {
		if n.snap == nil || !frames[i-1].HasCFA || !n.holdsOnly(n.below(frames, i, 1), frames[i].CFA, frames[i+1].PC, sp) {
			return false
		}
	}
	return true
}

// below is the CFA of the frame that lies so many frames in front of frame i.
func (n *interiors) below(frames []unwind.Frame, i, back int) uint64 {
	if len(n.repeats) == 0 {
		return frames[i-back].CFA
	}
	return n.belowRepeats(frames, i, back)
}

func (n *interiors) belowRepeats(frames []unwind.Frame, i, back int) uint64 {
	k, further := n.repeats.Index(n.repeats.Number(i) - back)
	return frames[k].CFA + further
}

// jumps tells whether the direct call of a frame may have led to the callee by a jump through a pointer: then that call
// is no other evidence than a call through a pointer. Example: libtidy's prvTidyParseBlock calls a function that ends in a
// jump to the parser of the element at hand.
func (n *interiors) jumps(callee, f *unwind.Frame) bool {
	n.asked++
	return n.graph != nil && n.asked <= maxAsked && n.graph.MayJump(n.snap, callee, f)
}

// agree tells whether a search of the stack agrees with the rule that led to frame i: the return
// address found is the only word in the callee's frame that can be one, and so is the next, which is
// proven, in frame i.
//
//	#3  g   ◄─ call f: goes to #2's function             proven
//	#2  f   ◄─ call *%rax                                found by one derivation
//	#1  h   whose entry nobody knows                     one return address, #2's
//
// Were h's frame smaller than the rule has it, h's return address would lie below; were it larger,
// beyond, in f's. Example: busybox's ash_main, which never returns, and to which a table of applets
// points.
func (n *interiors) agree(frames []unwind.Frame, i int) bool {
	if n.snap == nil || i < 2 || i+1 >= len(frames) || frames[i-1].Exact || frames[i].Exact || !frames[i-2].HasCFA || !frames[i-1].HasCFA || !frames[i].HasCFA {
		return false
	}
	own, next := n.below(frames, i, 1), &frames[i+1]
	callee := n.below(frames, i, 2)
	return frames[i].Checks.Has(unwind.FrameSize) && next.Checks.Has(unwind.FrameSize) && next.Checks.Proven() && derivedFrame(next) &&
		n.holdsOnly(callee, own, frames[i].PC, callee) && n.holdsOnly(own, frames[i].CFA, next.PC, callee)
}

// secondDerivations says of frames from the one at index first on, which one derivation led to, where a
// search of the stack agrees.
func (n *interiors) secondDerivations(frames []unwind.Frame, first int) {
	for i := first; i < len(frames); i++ {
		f := &frames[i]
		second := *f
		second.Checks |= unwind.MethodsAgree
		if ruledFrame(f) && !derivedFrame(f) && derivedFrame(&second) && n.agree(frames, i) {
			*f = second
		}
	}
}

// firstPassed is the first word that a frame was passed on the stack, 0 if nobody knows.
func (n *interiors) firstPassed(f *unwind.Frame) (word uint64) {
	if n.snap != nil && f.HasCFA {
		word, _ = n.snap.Memory.Word(f.CFA)
	}
	return word
}

// holdsOnly tells whether one word of a frame from lo to hi can be the return address of a function
// whose stack pointer is sp, and that word is ra.
func (n *interiors) holdsOnly(lo, hi, ra, sp uint64) bool {
	if hi-lo > maxInterior {
		return false
	}
	arch, found := n.snap.Arch, 0
	size := uint64(arch.AddrSize)
	for off := uint64(0); off+size <= hi-lo; off += size { // a frame may end at the last address
		at := lo + off
		word, ok := n.snap.Memory.Uint(at, arch.AddrSize)
		if !ok {
			return false
		}
		switch pc, is := n.returnAddress(word); {
		case is && pc == ra:
			found++
		case is && n.mayBeOf(word, pc, int64(at-sp)):
			return false
		}
	}
	return found == 1
}

// mayBeOf tells whether a word that means a return address may be that of a function which keeps
// its own off bytes above SP.
func (n *interiors) mayBeOf(word, pc uint64, off int64) bool {
	_, mode := n.snap.Arch.SplitCode(word)
	m, _ := n.snap.ModuleAt(pc - 1)
	site, kind := callsite.BeforeIn(n.snap, m, pc, mode)
	n.asked++
	return n.asked > maxAsked || n.graph == nil || kind != callsite.Call || n.graph.KeepsReturnAt(n.snap, site, mode, off)
}

// returnAddress is the code address that a word means, signed or not, and whether a call may
// return there.
func (n *interiors) returnAddress(word uint64) (uint64, bool) {
	arch := n.snap.Arch
	pc, is := n.behindCall(word)
	if !is && n.snap.CodeMask != 0 {
		pc, is = n.behindCall(target.Unsigned(word, n.snap.CodeMask))
	}
	for i := 0; i < len(arch.AddrBits) && !is; i++ {
		pc, is = n.behindCall(target.Unsigned(word, 1<<arch.AddrBits[i]-1))
	}
	return pc, is
}

// behindCall tells whether a code address follows a call, or nobody knows.
func (n *interiors) behindCall(word uint64) (uint64, bool) {
	pc, mode := n.snap.Arch.SplitCode(word)
	m, _ := n.snap.ModuleAt(pc - 1)
	if executable(n.snap, pc-1, m)&unwind.Executable == 0 {
		return pc, false
	}
	_, kind := callsite.BeforeIn(n.snap, m, pc, mode)
	return pc, kind != callsite.NoCall
}
