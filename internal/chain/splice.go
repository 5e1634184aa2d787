// Package chain completes the frames of a walk by those that a capture lists.
package chain

import (
	"slices"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Splice completes the frames of a finished walk of t, and why it stopped, by the frames
// that the capture lists (target.Thread.Listed): where the memory of a report ends after 40
// words, the chain that the kernel printed goes on.
//
//	walked   leaf ── mid_c ── mid_b ── (memory ends)
//	listed   leaf ─────────── mid_b ── stale? ── mid_a ── write
//	result   leaf ── mid_c ── mid_b ──────────── mid_a ── write
//
// The frames that were walked on evidence stand first; frames that only a search found are
// dropped. Behind the last frame that the walk and the list have in common come the listed
// frames further out. A listed frame that code contradicts, because it cannot have called the
// frame before, is left out where the rest fits without it, and is a guess otherwise.
//
// entries[i] is the index in t.Listed of frame i, −1 where the capture does not list it.
func Splice(snap *target.Snapshot, opt *stackwalk.Options, t *target.Thread, frames []unwind.Frame, stop unwind.Stop) (spliced []unwind.Frame, entries []int, end unwind.Stop) {
	s := newSplicer(snap, opt, t)
	listed := t.Listed
	if i := slices.IndexFunc(listed, func(l target.Listed) bool { return l.Around }); i >= 0 {
		listed = listed[:i]
	}
	spliced, entries, end = s.splice(listed, frames, stop)
	if end.Reason != unwind.StopRoot {
		spliced, entries = s.appendAround(t.Listed[len(listed):], len(listed), spliced, entries)
	}
	return spliced, entries, end
}

// splice is Splice for the entries that the capture lists as frames, one behind the other.
func (s *splicer) splice(listed []target.Listed, frames []unwind.Frame, stop unwind.Stop) (spliced []unwind.Frame, entries []int, end unwind.Stop) {
	entries, next := stackwalk.MatchListed(s.graph, listed, frames)
	if len(entries) > 0 && entries[0] >= 0 && listed[entries[0]].ByName {
		doubtNamed(frames)
	}
	if stop.Reason == unwind.StopRoot && len(frames) > 0 {
		return frames, entries, stop
	}
	own := frames[:trusted(frames)]
	if len(own) < len(frames) {
		_, next = stackwalk.MatchListed(s.graph, listed, own)
	}
	for len(own) > 0 && own[len(own)-1].Checks.Has(unwind.OnlyCaller) && next < len(listed) && s.snap.IsHook(listed[next].PC) {
		next++ // the tracer's entry stands for a caller that was found
	}
	callee := unwind.Frame{Method: none}
	if len(own) > 0 {
		callee = own[len(own)-1]
	}
	s.list(listed[next:], callee)
	path := s.path()
	if len(path) == 0 {
		return frames, entries, stop
	}
	spliced, entries = slices.Clip(own), entries[:len(own)]
	for _, k := range path {
		if len(spliced) > 0 {
			if lost, ok := s.putBack(&spliced[len(spliced)-1], &s.frames[k]); ok {
				spliced, entries = append(spliced, lost), append(entries, -1)
				s.frames[k], _ = s.step(&lost, k)
				stackwalk.LimitTrust(&s.frames[k], lost.Trust, unwind.CapInherited)
			}
		}
		spliced, entries = append(spliced, s.frames[k]), append(entries, next+k)
	}
	doubtSecondChain(spliced)
	root := s.listed[path[len(path)-1]].Outermost
	spliced, entries = withChain(frames, spliced, entries, len(own), root)
	switch last := s.maxFrames; {
	case len(spliced) > last:
		spliced, entries = spliced[:last], entries[:last]
		stop = unwind.Stop{Reason: unwind.StopLimit, Addr: spliced[last-1].PC}
	case root:
		stop = unwind.Stop{Reason: unwind.StopRoot}
	case len(frames) == 0: // nothing could be walked
		stop.Addr = spliced[len(spliced)-1].PC
	}
	return spliced, entries, stop
}

// doubtNamed makes likely what was walked from a place that only a name states: the file may be
// of another build.
func doubtNamed(frames []unwind.Frame) {
	frames[0].Method = unwind.MethodPrewalked
	for i := range frames {
		stackwalk.LimitTrust(&frames[i], unwind.Likely, unwind.CapNamed)
	}
}

// What a step of a path is worth: from a frame to its caller, over entries between them.
const (
	worthProven  = 4  // the call before the entry goes to the callee
	worthByJump  = 3  // … by another function's jump
	worthLost    = 2  // … to the only caller of the callee, which the list lacks
	worthUnclear = 0  // the call goes elsewhere, and from there nobody knows where
	worthOpen    = 1  // an indirect call, an interrupted frame, or nobody knows the code
	worthMissing = -1 // no pointer leads to the callee: lines of the report are missing between
	worthAgainst = -4 // no call stands there, or one that goes elsewhere
	worthSkipped = -2 // an entry that the capture does not doubt is left out
	worthDoubted = -2 // an entry that the capture doubts is taken
	worthWithin  = 0  // … behind another, at most: what is left of a chain fits together, too
	worthRoot    = 6  // the outermost entry is reached
	worthEnded   = -5 // an entry that the capture does not doubt stands behind the path's end
)

// maxSkipped is how many entries a step may leave out: a search through a stack lists some
// stale return addresses one behind the other. What is left over from a tracer may be more: the first entry
// behind them that is not doubted is looked at as well.
const maxSkipped = 24

// after is the entry to look at behind entry k, in a step over those from first on; len(listed) for none.
func (s *splicer) after(first, k int) int {
	switch {
	case k < first+maxSkipped:
		return k + 1
	case k > first+maxSkipped:
		return len(s.listed)
	}
	for k++; k < len(s.listed) && !s.isSure(k); k++ {
	}
	return k
}

// isSure tells whether neither the capture doubts entry k, nor a search found it.
func (s *splicer) isSure(k int) bool { return !s.listed[k].Doubtful && !s.listed[k].Searched }

// path chooses the entries that are frames: the best path through the list. An entry's
// frame depends on its callee, so that steps are looked at from the outermost entry inwards,
// and each entry is kept as its best callee sees it.
func (s *splicer) path() []int {
	n := len(s.listed)
	worth := make([]int, n+1) // of the best path from entry i on; n: the end
	step := make([]int, n+1)  // its next entry
	for i := n - 1; i >= -1; i-- {
		from := s.callee
		if i >= 0 {
			from = s.entry(i)
		}
		worth[i+1], step[i+1] = s.bestStep(&from, i+1, worth)
	}
	var path []int
	other := false // the entries from here on are another chain's, or many lines were lost
	for at, from := 0, s.callee; ; {
		k := step[at]
		if k >= n {
			return path
		}
		f, gain := s.step(&from, k)
		switch {
		case f.Checks.Proven() || s.listed[k].Doubtful || s.listed[k].Searched:
		case s.passedOver(at, k) > 0:
			stackwalk.LimitTrust(&f, unwind.Guess, unwind.CapOtherChain)
			other = other || s.passedOver(at, k) > 1
		case gain < worthUnclear && !s.judge.Exhausted() && !s.mayLackOne(&from, &f):
			other = true
		}
		if other {
			stackwalk.LimitTrust(&f, unwind.Guess, unwind.CapOtherChain)
		}
		s.frames[k], from = f, f
		path, at = append(path, k), k+1
	}
}

// passedOver counts the entries from first to k that the capture does not doubt. What the path leaves out may be the
// caller of a frame that the capture lost; several are rather another chain's.
func (s *splicer) passedOver(first, k int) (n int) {
	for i := first; i < k; i++ {
		if s.isSure(i) {
			n++
		}
	}
	return n
}

// bestStep is the entry, at first or behind, that from is best called by; len(listed) where
// the path rather ends.
func (s *splicer) bestStep(from *unwind.Frame, first int, worth []int) (best, next int) {
	best, next = s.endWorth(first), len(s.listed)
	if first > 0 && s.listed[first-1].Outermost {
		return worthRoot, next
	}
	for k, skipped := first, 0; k < len(s.listed); k = s.after(first, k) {
		f, gain := s.step(from, k)
		if first > 0 && s.listed[first-1].Doubtful && s.listed[k].Doubtful && k < s.sure {
			gain = min(gain, worthWithin)
		}
		if k == first && gain < worthLost && s.lacksOne(from, &f, &s.listed[k]) {
			gain = worthLost
		}
		if total := skipped + gain + worth[k+1]; total > best {
			best, next = total, k
		}
		if s.isSure(k) {
			if gain >= worthByJump {
				break
			}
			skipped += worthSkipped
		}
	}
	return best, next
}

// endWorth is the worth of a path that leaves out all entries from first on.
func (s *splicer) endWorth(first int) (worth int) {
	for k := first; k < len(s.listed); k = s.after(first, k) {
		if s.isSure(k) {
			worth += worthEnded
		}
	}
	return worth
}

// entry is entry k as a callee.
func (s *splicer) entry(k int) unwind.Frame {
	f, _ := s.step(&unwind.Frame{Method: none}, k)
	return f
}

// step is entry k as the caller of a frame, and what the step is worth.
func (s *splicer) step(callee *unwind.Frame, k int) (f unwind.Frame, worth int) {
	l := &s.listed[k]
	if l.Doubtful && k < s.sure {
		worth = worthDoubted // else there is nothing better
	}
	exact, gap := s.steps.left(callee, l)
	f = unwind.Frame{PC: l.PC, CallSite: l.PC, Exact: exact, Method: unwind.MethodPrewalked}
	stackwalk.SetChecks(&f, unwind.CodeMissing)
	defer func() {
		afterGuess := callee.Method != none && callee.Trust == unwind.Guess // two stale entries may fit one another
		if gap && !f.Checks.Proven() || (l.Doubtful || l.Searched) && (afterGuess || !f.Checks.Proven()) {
			stackwalk.LimitTrust(&f, unwind.Guess, unwind.CapGap)
		}
	}()
	if l.PC == 0 {
		return f, worth + worthOpen
	}
	mode := s.mode
	if l.HasMode {
		mode = l.Mode
	}
	f = s.judge.Caller(orNil(callee), unwind.MethodPrewalked, l.PC, mode, exact)
	if l.Within {
		f.CallSite = l.PC
	}
	if s.goesElsewhere(&f, callee) {
		stackwalk.SetChecks(&f, f.Checks|unwind.TargetDiffers)
	}
	c := f.Checks
	switch {
	case gap && c.Has(unwind.CallBefore) && !c.Proven():
		return f, worth + worthUnclear // the call was that of a frame between
	case c.Has(unwind.NoCall) && f.CallSite == f.PC:
		return f, worth + worthMissing // the beginning of a function: a kernel has its tasks return there
	case !c.Has(unwind.CallBefore) || c.Has(unwind.TargetMatches):
	case nowhere(callee) && s.callsCode(&f, callee):
		f.Checks |= unwind.TargetUnclear
		stackwalk.LimitTrust(&f, unwind.Guess, unwind.CapGap)
		return f, worth + worthMissing
	case s.cannotCall(&f, callee), (l.Doubtful || l.Searched || callee.Trust == unwind.Guess) && s.cannotPoint(&f, callee):
		stackwalk.LimitTrust(&f, unwind.Guess, unwind.CapGap)
		return f, worth + worthAgainst
	case s.cannotPoint(&f, callee):
		stackwalk.LimitTrust(&f, unwind.Guess, unwind.CapGap)
		return f, worth + worthMissing
	}
	return f, worth + worthOf(c)
}

// worthOf weighs the evidence for a step.
func worthOf(c unwind.Checks) int {
	switch {
	case c&(unwind.NoCall|unwind.TargetDiffers) != 0 || c&(unwind.Executable|unwind.CodeMissing|unwind.AtTrampoline) == 0:
		return worthAgainst
	case c.Proven():
		return worthProven
	case c.Has(unwind.TargetMatches):
		return worthByJump
	case c.Has(unwind.TargetUnclear):
		return worthUnclear
	}
	return worthOpen
}

// withChain are spliced frames with those of a chain to the entry of the kernel that lead from one to another and further out,
// if the chain has all of them behind own; what the capture lists is surer. The entry itself, root, may be the last of them.
func withChain(walked, spliced []unwind.Frame, entries []int, own int, root bool) (frames []unwind.Frame, of []int) {
	frames, of = slices.Clone(spliced[:own]), slices.Clone(entries[:own])
	k := own
	for _, f := range walked[own:] {
		switch {
		case f.Checks&(unwind.OnlyCaller|unwind.SeveralFit) == 0:
			return spliced, entries
		case k < len(spliced) && spliced[k].PC == f.PC:
			frames, of = append(frames, spliced[k]), append(of, entries[k])
			k++
		default:
			frames, of = append(frames, f), append(of, -1)
		}
	}
	if root && k+1 == len(spliced) {
		return append(frames, spliced[k]), append(of, entries[k])
	}
	if k < len(spliced) || len(walked) == own {
		return spliced, entries
	}
	return frames, of
}
