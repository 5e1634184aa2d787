package display

import (
	"iter"
	"slices"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/target"
)

// origin is where stacks come from: a program, and the event for which a recording has them, "" where none is known.
type origin struct{ event, program string }

// Count counts stacks of a snapshot's threads, in their order: the numbers of their frames, innermost first. A stack without frames is
// not counted.
func (s *Stacks) Count(snap *target.Snapshot, stacks ...[]uint32) {
	from := origin{program: foldedName(typeset.ProgramName(snap))}
	s.counting.Lock()
	defer s.counting.Unlock()
	number := s.origins.number(from)
	for i, stack := range stacks {
		if i < len(snap.Threads) && snap.Threads[i].Moment != nil && snap.Threads[i].Moment.Event != from.event {
			from.event = snap.Threads[i].Moment.Event
			number = s.origins.number(from)
		}
		if len(stack) > 0 {
			s.tree.count(s.tree.end(number, stack), 1)
		}
	}
}

// events are the names of the events for which there are stacks, in the order in which they came.
func (s *Stacks) events() (names []string) {
	for _, end := range s.tree.ends {
		at := end
		for s.tree.calls.list[at].above != topCall {
			at = s.tree.calls.list[at].above
		}
		if e := s.origins.list[s.tree.calls.list[at].what].event; e != "" && !slices.Contains(names, e) {
			names = append(names, e)
		}
	}
	return names
}

// outermost are the names above all functions of stacks of an origin: the program's, and, where stacks are of several events, that of the
// event: samples of page faults are not comparable with samples of time.
func (s *Stacks) outermost(number uint32, several bool) (names []string) {
	o := s.origins.list[number]
	if several && o.event != "" {
		names = append(names, foldedName(o.event))
	}
	if o.program != "" {
		names = append(names, o.program)
	}
	return names
}

// callTree are stacks that were counted, outermost call first. Stacks share the calls in which they begin alike, so that memory is
// taken for what differs: of a recording's stacks, mostly the innermost three calls.
type callTree struct {
	calls  numbered[call]
	counts []uint32   // of calls: how many stacks end with each; those behind have none
	ends   []uint32   // the calls with which stacks end, in the order in which they came
	last   []lastCall // of the stack that came last
}

// call is a number of what is called, and that of the call that it is below, or topCall.
type call struct{ above, what uint32 }

// lastCall is a call of the stack that came last: what is called, and the call's number.
type lastCall struct{ what, number uint32 }

// topCall is above the outermost calls.
const topCall = ^uint32(0)

// end returns the last call of a stack of a program's frames, innermost first. Stacks that come one after the other mostly begin alike.
func (t *callTree) end(program uint32, frames []uint32) (at uint32) {
	at = topCall
	alike := true
	for depth := range len(frames) + 1 {
		what := program
		if depth > 0 {
			what = frames[len(frames)-depth]
		}
		if alike = alike && depth < len(t.last) && t.last[depth].what == what; !alike {
			t.last = append(t.last[:depth], lastCall{what, t.calls.number(call{at, what})})
		}
		at = t.last[depth].number
	}
	return at
}

// count counts stacks that end with a call.
func (t *callTree) count(end, n uint32) {
	if more := int(end) + 1 - len(t.counts); more > 0 {
		t.counts = append(t.counts, make([]uint32, more)...)
	}
	if t.counts[end] == 0 {
		t.ends = append(t.ends, end)
	}
	t.counts[end] += n
}

// stacks are the different stacks, in the order in which they came: what is called, outermost first, and how many there are.
func (t *callTree) stacks() iter.Seq2[[]uint32, int] {
	return func(yield func([]uint32, int) bool) {
		var stack []uint32
		for _, end := range t.ends {
			stack = stack[:0]
			for n := end; n != topCall; n = t.calls.list[n].above {
				stack = append(stack, t.calls.list[n].what)
			}
			slices.Reverse(stack)
			if !yield(stack, int(t.counts[end])) {
				return
			}
		}
	}
}

// byText are the stacks by the texts of their frames: of places in one function, the first stands for all.
func (s *Stacks) byText() *callTree {
	return mergedBy(s, func(n uint32) uint32 { return s.frames[n-1].text })
}

// mergedBy are the stacks by what their frames have in common: the first such frame stands for all.
func mergedBy[K comparable](s *Stacks, common func(frame uint32) K) *callTree {
	first, alike := map[K]uint32{}, make([]uint32, len(s.frames)+1)
	t := &s.tree
	var merged callTree
	numbers := make([]uint32, len(t.calls.list)) // in merged
	for i, c := range t.calls.list {
		if c.above != topCall {
			if alike[c.what] == 0 {
				k := common(c.what)
				if first[k] == 0 {
					first[k] = c.what
				}
				alike[c.what] = first[k]
			}
			c = call{numbers[c.above], alike[c.what]}
		}
		numbers[i] = merged.calls.number(c)
	}
	for _, end := range t.ends {
		merged.count(numbers[end], t.counts[end])
	}
	return &merged
}
