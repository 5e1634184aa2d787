package unwind

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
