package unwind

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
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
func (w *Walker) Splice(t *target.Thread, frames []Frame, stop Stop) (spliced []Frame, entries []int, end Stop) {
	listed := t.Listed
	if i := slices.IndexFunc(listed, func(l target.Listed) bool { return l.Around }); i >= 0 {
		listed = listed[:i]
	}
	spliced, entries, end = w.splice(t, listed, frames, stop)
	if end.Reason != StopRoot {
		spliced, entries = w.appendAround(t, len(listed), spliced, entries)
	}
	return spliced, entries, end
}

// splice is Splice for the entries that the capture lists as frames, one behind the other.
func (w *Walker) splice(t *target.Thread, listed []target.Listed, frames []Frame, stop Stop) (spliced []Frame, entries []int, end Stop) {
	graph := w.finder.verifier.graph
	entries, next := matchListed(graph, listed, frames)
	if len(entries) > 0 && entries[0] >= 0 && listed[entries[0]].ByName {
		doubtNamed(frames)
	}
	if stop.Reason == StopRoot && len(frames) > 0 {
		return frames, entries, stop
	}
	own := frames[:trusted(frames)]
	if len(own) < len(frames) {
		_, next = matchListed(graph, listed, own)
	}
	for len(own) > 0 && own[len(own)-1].Checks.has(OnlyCaller) && next < len(listed) && w.snap.IsHook(listed[next].PC) {
		next++ // the tracer's entry stands for a caller that was found
	}
	s := newSplicer(w, t, listed[next:])
	if len(own) > 0 {
		s.callee = own[len(own)-1]
	}
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
				s.frames[k].Limit(lost.Trust, CapInherited)
			}
		}
		spliced, entries = append(spliced, s.frames[k]), append(entries, next+k)
	}
	doubtSecondChain(spliced)
	root := s.listed[path[len(path)-1]].Outermost
	spliced, entries, led := withChain(frames, spliced, entries, len(own), root)
	switch last := w.opt.MaxFrames; {
	case len(spliced) > last:
		spliced, entries = spliced[:last], entries[:last]
		stop = Stop{StopLimit, spliced[last-1].PC}
	case root:
		stop = Stop{Reason: StopRoot}
	case !led:
		for _, f := range s.onlyCallers(spliced[len(spliced)-1]) {
			spliced, entries = append(spliced, f), append(entries, -1)
		}
	}
	return spliced, entries, stop
}

// doubtNamed makes likely what was walked from a place that only a name states: the file may be
// of another build.
func doubtNamed(frames []Frame) {
	frames[0].Method = MethodPrewalked
	for i := range frames {
		frames[i].Limit(Likely, CapNamed)
	}
}

// trusted is how many frames stand before the first that is a guess.
func trusted(frames []Frame) int {
	for i := range frames {
		if frames[i].Trust == Guess {
			return i
		}
	}
	return len(frames)
}

// matchListed finds the walked frames in the list, in order. next is behind the last that
// was found.
func matchListed(graph CallGraph, listed []target.Listed, frames []Frame) (entries []int, next int) {
	entries = make([]int, len(frames))
	for i := range frames {
		entries[i] = -1
		for k := next; k < len(listed); k++ {
			if isListed(graph, &listed[k], &frames[i]) {
				entries[i], next = k, k+1
				break
			}
		}
	}
	return entries, next
}

// isListed tells whether an entry is a frame: of the same address, or of the function that the entry names alone.
func isListed(graph CallGraph, l *target.Listed, f *Frame) bool {
	if l.PC != 0 || l.Entry == 0 {
		return l.PC != 0 && l.PC == f.PC
	}
	return graph != nil && codeKnown(f) && f.Module.Contains(l.Entry) && graph.OneFunction(f.Module, l.Entry, f.CallSite, f.Mode) == Yes
}

// splicer finds the frames among those listed.
type splicer struct {
	verifier verifier
	state    State
	listed   []target.Listed
	callee   Frame   // the last frame that was walked; none: Method is methodCount
	frames   []Frame // what is known of each entry from its callee on the best path
	mode     cpu.Mode
	sure     int // the number of entries up to the last that the capture does not doubt
	lost     int // how often a lost frame was looked for
	steps    steps
}

func newSplicer(w *Walker, t *target.Thread, listed []target.Listed) *splicer {
	s := &splicer{listed: listed, verifier: w.finder.verifier, frames: make([]Frame, len(listed)), callee: Frame{Method: methodCount}}
	s.verifier.isAhead = true // whether another address would do as well is of no use here
	s.state = State{Snapshot: w.snap.Of(t), Thread: t, Regs: new(cpu.Registers), Limit: MaxCost}
	s.steps = steps{s.verifier.graph, s.state.Snapshot, map[uint64]Answer{}}
	_, s.mode, _ = w.snap.Arch.PCOf(&t.Regs)
	for s.sure = len(listed); s.sure > 0 && listed[s.sure-1].Doubtful; s.sure-- {
	}
	return s
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
		case f.Checks.proven() || s.listed[k].Doubtful || s.listed[k].Searched:
		case s.passedOver(at, k) > 0:
			f.Limit(Guess, CapOtherChain)
			other = other || s.passedOver(at, k) > 1
		case gain < worthUnclear && !s.state.Exhausted() && !s.mayLackOne(&from, &f):
			other = true
		}
		if other {
			f.Limit(Guess, CapOtherChain)
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
func (s *splicer) bestStep(from *Frame, first int, worth []int) (best, next int) {
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
func (s *splicer) entry(k int) Frame {
	f, _ := s.step(&Frame{Method: methodCount}, k)
	return f
}

// step is entry k as the caller of a frame, and what the step is worth.
func (s *splicer) step(callee *Frame, k int) (f Frame, worth int) {
	l := &s.listed[k]
	if l.Doubtful && k < s.sure {
		worth = worthDoubted // else there is nothing better
	}
	exact, gap := s.steps.left(callee, l)
	f = Frame{PC: l.PC, CallSite: l.PC, Exact: exact, Method: MethodPrewalked}
	f.Judge(CodeMissing)
	defer func() {
		afterGuess := callee.Method != methodCount && callee.Trust == Guess // two stale entries may fit one another
		if gap && !f.Checks.proven() || (l.Doubtful || l.Searched) && (afterGuess || !f.Checks.proven()) {
			f.Limit(Guess, CapGap)
		}
	}()
	if l.PC == 0 {
		return f, worth + worthOpen
	}
	c := candidate{evidence: evidence{method: MethodPrewalked, raw: l.PC, valid: true}}
	if s.state.Snapshot.Arch.ISABit {
		c.raw |= uint64(s.mode)
	}
	c.Exact = exact
	s.gather(callee, &c)
	if s.goesElsewhere(&c, callee) {
		c.checks |= TargetDiffers
		c.trust = trustOf(c.method, c.checks)
	}
	f = c.frame()
	switch {
	case gap && c.checks.has(CallBefore) && !c.checks.proven():
		return f, worth + worthUnclear // the call was that of a frame between
	case !c.checks.has(CallBefore) || c.checks&targetChecks&^TargetUnclear != 0:
	case nowhere(callee) && s.callsCode(&f, callee):
		f.Checks |= TargetUnclear
		f.Limit(Guess, CapGap)
		return f, worth + worthMissing
	case s.cannotCall(&f, callee), (l.Doubtful || l.Searched || callee.Trust == Guess) && s.cannotPoint(&f, callee):
		f.Limit(Guess, CapGap)
		return f, worth + worthAgainst
	case s.cannotPoint(&f, callee):
		f.Limit(Guess, CapGap)
		return f, worth + worthMissing
	}
	return f, worth + worthOf(c.checks)
}

// gather asks for evidence. Where a frame's code is not known, where calls go says nothing.
func (s *splicer) gather(callee *Frame, c *candidate) {
	v := s.verifier
	if callee.Method == methodCount || !codeKnown(callee) {
		v.graph = nil
	}
	st := &s.state
	st.PC, st.Site, st.Mode, st.Exact, st.Module = callee.PC, callee.CallSite, callee.Mode, callee.Exact, callee.Module
	v.gather(st, c)
	if c.checks.has(NoCall) && callsite.Patched(c.module, c.pc, c.mode) {
		c.checks = c.checks&^NoCall | CallBefore | CodeMissing
		c.trust = trustOf(c.method, c.checks)
	}
	if c.module == nil || c.module.Image == nil {
		c.checks |= CodeMissing
		c.trust = trustOf(c.method, c.checks)
	}
}

// worthOf weighs the evidence for a step.
func worthOf(c Checks) int {
	switch {
	case c&(NoCall|TargetDiffers) != 0 || c&(Executable|CodeMissing|AtTrampoline) == 0:
		return worthAgainst
	case c.proven():
		return worthProven
	case c.has(TargetMatches):
		return worthByJump
	case c.has(TargetUnclear):
		return worthUnclear
	}
	return worthOpen
}
