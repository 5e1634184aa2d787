package stackwalk

import "github.com/backsight/backsight/unwind"

const (
	// foldEvery is how many frames a walk appends before the walk looks for recursion among them: other stacks pay nothing.
	foldEvery = 1024
	// leastFolded is how many frames a repeat leaves out at least, longestTurn how many a turn has at most.
	leastFolded, longestTurn = 64, 16
)

// folding leaves turns of recursion out of the frames of a walk while they are found, so that a stack overflow of a million
// frames takes the memory of a thousand.
type folding struct {
	repeats unwind.Repeats
	omitted int
	from    int // the frames in front of this one are not looked at again
	next    int // the length of the list that is looked at next
}

// fold leaves turns out of frames, which begin with the innermost. The last frame stays, whose CFA is not known yet.
func (f *folding) fold(frames []unwind.Frame) []unwind.Frame {
	end := len(frames) - 1
	i := f.from + f.goOn(frames[:end])
	out := f.from
	for i < end {
		period, turns := turnsAt(frames[i:end])
		for range max(period, 1) {
			frames[out] = frames[i]
			i, out = i+1, out+1
		}
		if turns > 0 {
			stride := frames[i].CFA - frames[out-period].CFA
			f.repeats = append(f.repeats, unwind.Repeat{At: out, Period: period, Turns: turns, Stride: stride, First: out + f.omitted})
			f.omitted += turns * period
			i += turns * period
			f.from = out
		}
	}
	frames[out] = frames[end]
	f.from = max(f.from, out-leastFolded-longestTurn)
	f.next = out + foldEvery
	return frames[:out+1]
}

// goOn lengthens the last repeat by the turns that lie behind it, and returns how many frames these have.
func (f *folding) goOn(frames []unwind.Frame) (more int) {
	if len(f.repeats) == 0 || f.repeats[len(f.repeats)-1].At != f.from {
		return 0
	}
	r := &f.repeats[len(f.repeats)-1]
	for at := f.from; at+r.Period <= len(frames); at += r.Period {
		for k := range r.Period {
			if !again(&frames[f.from-r.Period+k], &frames[at+k], r.Stride*uint64(r.Turns+1)) {
				return more
			}
		}
		r.Turns, f.omitted, more = r.Turns+1, f.omitted+r.Period, more+r.Period
	}
	return more
}

// turnsAt is the shortest turn of recursion that begins with the first of frames, and how often it comes again; 0 where no
// recursion is worth folding.
func turnsAt(frames []unwind.Frame) (period, turns int) {
	for period = 1; period <= longestTurn && period+leastFolded <= len(frames); period++ {
		stride, n := frames[period].CFA-frames[0].CFA, 0
		for n+period < len(frames) && again(&frames[n], &frames[n+period], stride) {
			n++
		}
		if turns = n / period; turns*period >= leastFolded {
			return period, turns
		}
	}
	return 0, 0
}

// again tells whether b is a, so many bytes further out. A frame that was interrupted is never left out.
func again(a, b *unwind.Frame, further uint64) bool {
	same := *a
	same.CFA += further
	return same == *b && b.HasCFA && !b.Exact
}

// circle tells when a walk comes back to a frame that it has. Two frames that were left at one place with one SP are one
// frame. SP rises from frame to frame, but for those that were interrupted, and for calls by functions that have nothing on
// the stack: each circle has one of these, which no cache knows, so that the frames of a walk do not depend on caches.
//
// One frame is kept, and another one each time that twice as many were compared (R. P. Brent, An improved Monte Carlo
// factorization algorithm, 1980): a circle is found in its third round at the latest, and a chain of a million frames, each
// compared with one, is no work.
type circle struct {
	pc, sp       uint64
	exact        bool
	compared     int
	until        int // so many are compared with this one
	interruption int // how many frames were interrupted
}

// from begins with the innermost frame.
func (o *circle) from(s *State) {
	sp, _ := s.Regs.Lookup(s.Snapshot.Arch.SP)
	*o = circle{pc: s.PC, sp: sp, exact: s.Exact, until: 1}
}

// closes tells whether the caller of s is a frame that the walk has.
func (o *circle) closes(s *State, c *candidate) bool {
	sp, ok := c.Regs.Lookup(s.Snapshot.Arch.SP)
	if old, known := s.Regs.Lookup(s.Snapshot.Arch.SP); !ok || !c.Exact && (s.Exact || known && old != sp) {
		return false
	}
	if c.pc == o.pc && sp == o.sp && c.Exact == o.exact {
		return true
	}
	if o.compared++; o.compared == o.until {
		*o = circle{c.pc, sp, c.Exact, 0, 2 * o.until, o.interruption}
	}
	return false
}

// What a frame that was interrupted takes of a stack at least: the registers of all processors that run programs take more.
// Of stacks that are small, or of which little was captured, someInterrupted are believed.
const (
	interruptedBytes = 256
	someInterrupted  = 64
)

// interrupts counts the caller of s, if that was interrupted, and tells whether there are more than the stack has room for:
// signals' frames that lie over one another, a word further each, are none.
func (o *circle) interrupts(s *State, c *candidate) bool {
	if !c.Exact {
		return false
	}
	o.interruption++
	return o.interruption > someInterrupted && uint64(o.interruption-someInterrupted) > (s.Stack.Hi-s.Stack.Lo)/interruptedBytes
}
