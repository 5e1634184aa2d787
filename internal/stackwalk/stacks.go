package stackwalk

import (
	"cmp"
	"sort"

	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Walked is a thread and the frames that a walk found, innermost first.
type Walked struct {
	Thread *target.Thread
	Frames []unwind.Frame
}

// Doubt is what speaks against the frames of a walk and cannot be seen in that walk alone.
type Doubt struct {
	// Walk is the index of the walk; its frames from Frame on are in doubt, which follow
	// from what lies on the stack at Addr, a target address.
	Walk, Frame int
	Addr        uint64
	// Other is the index of the walk whose frames have the same words of the stack; −1: the
	// stack lies in the data of Module.
	Other  int
	Module *target.Module
	// Overwritten: the other walk's thread came from above onto the stack of this one. The frames from Frame on are none.
	Overwritten bool
}

// Doubts compares the walks of a snapshot's threads, one for each thread at most:
//
//   - A word of the stack belongs to one activation. Where two live threads have frames on the
//     same words, one wrote over what the other had left there, or one of the walks went astray.
//     Example: a thread pool gives a stack to a second thread while the first still sleeps on
//     it; both walks then find the second's frames, without a flaw.
//     On a machine, a thread that stands on another's stack, as the capture bounds both, overflowed its own,
//     and what lies there is what that thread wrote last.
//   - Nobody calls functions on a program's variables. Example: SP was overwritten, or
//     switched to a buffer by an exploit (a stack pivot); what lies there looks like frames.
//     A signal handler may run there, for the program has said so (sigaltstack), and the
//     signal frame leads out; so may everything on a machine without processes, where
//     stacks are variables (Cortex-M firmware, the init task of Linux).
//
// A doubt is the first of its walk. The walks are not changed.
func Doubts(snap *target.Snapshot, walks []Walked) []Doubt {
	first := make(map[int]Doubt)
	note := func(d Doubt) {
		if old, ok := first[d.Walk]; !ok || d.Frame < old.Frame {
			first[d.Walk] = d
		}
	}
	sweep(walks, runsOf(snap, walks), func(d, other Doubt) {
		d.Overwritten, other.Overwritten = spills(snap, walks, &d), spills(snap, walks, &other)
		if !other.Overwritten {
			note(d)
		}
		if !d.Overwritten {
			note(other)
		}
	})
	if process(snap) {
		for i := range walks {
			if m, sp, ok := onData(snap, &walks[i]); ok && len(walks[i].Frames) > 1 {
				note(Doubt{Walk: i, Frame: 1, Addr: sp, Other: -1, Module: m})
			}
		}
	}
	out := make([]Doubt, 0, len(first))
	for _, d := range first {
		out = append(out, d)
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Walk < out[b].Walk })
	return out
}

// spills tells whether the other walk of a doubt is that of a thread which overflowed its stack into the stack of this one.
func spills(snap *target.Snapshot, walks []Walked, d *Doubt) bool {
	victim, culprit := walks[d.Walk].Thread.Stack, walks[d.Other].Thread.Stack
	return !process(snap) && victim.Contains(d.Addr) && victim.Hi <= culprit.Lo
}

// process tells whether the snapshot is a process, whose threads the system lists once
// each; else it is a machine, or nobody knows.
func process(snap *target.Snapshot) bool { return snap.PID != 0 }

// run is the words of a stack that frames of a walk have, one behind the other: each from SP,
// inclusive, to its CFA.
type run struct {
	lo, hi uint64
	owner  int // threads of one owner are one activity, listed more than once
	walk   int
	frame  int // the innermost
}

const (
	// maxFrameSize bounds a frame: what a rule says that switches stacks is none.
	maxFrameSize = 16 << 20
	// plainFrame is the size of a frame that reaches no other stack: a page lies between.
	plainFrame = 4096
)

// runsOf collects the runs of all walks. A walk over memory of its own moment, as a report
// in a log has, has nothing to do with the others.
func runsOf(snap *target.Snapshot, walks []Walked) (runs []run) {
	owners := make(map[activity]int)
	for i := range walks {
		t := walks[i].Thread
		if a, ok := activityOf(snap, t); ok && t.Memory == nil && !process(snap) {
			if _, known := owners[a]; !known {
				owners[a] = i
			}
		}
	}
	for i := range walks {
		if walks[i].Thread.Memory == nil {
			runs = appendRuns(runs, snap, &walks[i], i, owners)
		}
	}
	return runs
}

// activity is what a processor did or was to do: a machine's capture may list it as that of
// the processor, of the task, and as what an exception interrupted.
type activity struct{ pc, sp uint64 }

func activityOf(snap *target.Snapshot, t *target.Thread) (a activity, ok bool) {
	sp, known := t.Regs.Lookup(snap.Arch.SP)
	pc, _, ok := snap.Arch.PCOf(&t.Regs)
	return activity{pc, sp & snap.Arch.AddrMask()}, ok && known
}

func appendRuns(runs []run, snap *target.Snapshot, w *Walked, index int, owners map[activity]int) []run {
	a, ok := activityOf(snap, w.Thread)
	if !ok {
		return runs
	}
	r := run{lo: a.sp, hi: a.sp, owner: index, walk: index}
	for i := range w.Frames {
		f := &w.Frames[i]
		if f.Exact { // an exact frame begins an activity: the thread's, or one that was interrupted
			if o, listed := owners[activity{f.PC, r.hi}]; listed && o != r.owner {
				runs = r.end(runs, r.hi, i)
				r.owner = o
			}
		}
		if !f.HasCFA {
			break
		}
		interrupted := i+1 < len(w.Frames) && w.Frames[i+1].Exact // its CFA may be another stack's
		if size := f.CFA - r.hi; interrupted || size > plainFrame && (size > maxFrameSize || !snap.Memory.RangeAt(r.hi).Contains(f.CFA-1)) {
			runs = r.end(runs, f.CFA, i+1)
			continue
		}
		r.hi = f.CFA
	}
	return r.end(runs, 0, 0)
}

// end appends the run, unless it is empty, and begins another one at an address.
func (r *run) end(runs []run, at uint64, frame int) []run {
	if r.lo < r.hi {
		runs = append(runs, *r)
	}
	r.lo, r.hi, r.frame = at, at, frame
	return runs
}

// sweep goes through the runs in the order of their begins, and tells of each that begins
// before another owner's ends. Of the runs that are open, only the two that reach highest are
// kept, of different owners.
func sweep(walks []Walked, runs []run, tell func(d, other Doubt)) {
	sort.Slice(runs, func(a, b int) bool {
		return cmp.Or(cmp.Compare(runs[a].lo, runs[b].lo), cmp.Compare(runs[a].walk, runs[b].walk)) < 0
	})
	var top, second *run
	for i := range runs {
		r, o := &runs[i], top
		if o != nil && o.owner == r.owner {
			o = second
		}
		if o != nil && o.hi > r.lo {
			// The frame itself follows from what lies below its words, its caller from them.
			tell(Doubt{Walk: r.walk, Frame: r.frame + 1, Addr: r.lo, Other: o.walk},
				Doubt{Walk: o.walk, Frame: o.frameAt(walks[o.walk].Frames, r.lo) + 1, Addr: r.lo, Other: r.walk})
		}
		switch {
		case top == nil || r.hi > top.hi:
			if top != nil && top.owner != r.owner {
				second = top
			}
			top = r
		case r.owner != top.owner && (second == nil || r.hi > second.hi):
			second = r
		}
	}
}

// frameAt is the frame of the run that has the word at addr.
func (r *run) frameAt(frames []unwind.Frame, addr uint64) int {
	i := r.frame
	for frames[i].CFA <= addr {
		i++
	}
	return i
}

// onData tells whether the thread's stack lies in the variables of a module, from where no
// signal frame leads to another stack.
func onData(snap *target.Snapshot, w *Walked) (m *target.Module, sp uint64, ok bool) {
	a, ok := activityOf(snap, w.Thread)
	if !ok || w.Thread.Stack.Contains(a.sp) {
		return nil, 0, false
	}
	m, ok = snap.ModuleAt(a.sp)
	if !ok || m.Image == nil {
		return nil, 0, false
	}
	s, ok := m.Image.Segments.At(m.ToImage(a.sp))
	if !ok || !s.Write {
		return nil, 0, false
	}
	signal := false
	for i := range w.Frames {
		f := &w.Frames[i]
		signal = signal || f.Method == unwind.MethodSigframe
		if signal && f.HasCFA && !m.Contains(f.CFA) {
			return nil, 0, false
		}
	}
	return m, a.sp, true
}
