package unwind

import (
	"math/bits"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Operand is a value in terms of a frame at a call.
type Operand struct {
	Kind OperandKind
	Reg  cpu.Reg
	Off  int64
}

// OperandKind says where an Operand's value is. SP stands for the callee's CFA in both frames, the
// callee's and the caller's.
type OperandKind uint8

// The kinds.
const (
	Anything   OperandKind = iota // nothing is known
	Number                        // Off
	InRegister                    // what Reg holds, plus Off
	InMemory                      // the word at what Reg holds plus Off
)

// Clue is a value that tells two calls of one function apart: it is Own where one of them was
// running, and Other where the other one was.
type Clue struct {
	What, Own, Other Operand
	// OfCallee: What is in terms of the callee's frame, which keeps what it was passed.
	OfCallee bool
	// Straight: the other call goes to the callee's entry, not by way of other functions, which
	// may pass other values on.
	Straight bool
}

// siblings looks at frames of which another call in the same function is one bit away, for
// values that only one of the two calls leaves behind: what the callee was passed, as it keeps
// it in a register or a slot; what the caller stored right before.
//
//	404  mov $1,%esi; mov %rbx,%rdi; call f        f: mov %rdi,%r12
//	414  mov $2,%esi; mov %rbp,%rdi; call f           …
//
// In f, r12 holds what the caller's rbx holds, and not what its rbp does: it was the first call.
// Had one bit of the return address been lost, the values would be those of the other call.
type siblings struct {
	snap           *target.Snapshot
	finder         *finder
	callee, caller cpu.Registers
	cfa            uint64 // the callee's
}

// weighLostBits looks at the frames of which another call is one bit away, and at interrupted ones.
func (w *Walker) weighLostBits(snap *target.Snapshot, t *target.Thread, frames []Frame) {
	var checks Checks
	for i := range frames {
		checks |= frames[i].Checks
	}
	if checks.has(Interrupted) {
		w.finder.verifier.proveBehindInterrupted(snap, frames)
	}
	if checks.has(OneBitElsewhere) {
		w.finder.verifier.weighElsewhere(snap, frames)
	}
	if checks.has(OneBitAway) {
		if w.siblings == nil {
			w.siblings = &siblings{finder: &w.finder}
		}
		w.siblings.snap = snap
		w.siblings.weigh(t, frames)
	}
}

// maxWeighed bounds the frames of a walk whose siblings are looked at.
const maxWeighed = 32

// weigh takes the doubt away from the frames whose siblings' values are not there.
func (s *siblings) weigh(t *target.Thread, frames []Frame) {
	at, left := 0, maxWeighed // s.caller has the registers of frame at
	for i := 1; i < len(frames) && left > 0; i++ {
		f := &frames[i]
		if !f.Checks.has(OneBitAway) || !frames[i-1].HasCFA {
			continue
		}
		left--
		others := s.finder.verifier.graph.Witnesses().Clues(s.snap, &frames[i-1], f)
		if len(others) == 0 {
			continue
		}
		if at == 0 {
			s.caller = t.Regs
		}
		for ; at < i; at++ {
			s.callee = s.caller
			if !s.finder.again(s.snap, &frames[at], &frames[at+1], &s.callee, &s.caller) {
				return
			}
		}
		s.cfa = frames[i-1].CFA
		if s.excludeAll(others) {
			f.Checks &^= OneBitAway
		}
	}
}

// excludeAll tells whether of each list of clues, one for each sibling, one excludes the sibling,
// and none speaks against the frame.
func (s *siblings) excludeAll(others [][]Clue) bool {
	for _, clues := range others {
		excluded := false
		for i := range clues {
			is, isNot := s.tell(&clues[i])
			if isNot {
				return false
			}
			excluded = excluded || is
		}
		if !excluded {
			return false
		}
	}
	return true
}

// tell tells whether a clue excludes the sibling, and whether it contradicts the frame. An int in
// a register of 64 bits may have anything above it: 32 bits decide what differs. Values that
// differ in one bit only may be one that lost it.
func (s *siblings) tell(c *Clue) (excluded, contradicts bool) {
	regs := &s.caller
	if c.OfCallee {
		regs = &s.callee
	}
	v, ok := s.value(&c.What, regs)
	if !ok {
		return false, false
	}
	own, known := s.value(&c.Own, &s.caller)
	if known = known && c.Own.Kind != InMemory; known && uint32(own) != uint32(v) {
		return false, true
	}
	is := known && own == v && c.Own.Kind == InRegister && isPointer(v)
	other, has := s.value(&c.Other, &s.caller)
	switch {
	case c.Other.Kind == InMemory:
		return is && (!has || other != v), false
	case !has || uint32(other) == uint32(v):
		return false, false
	}
	return is || c.Straight && (known || bits.OnesCount32(uint32(other)^uint32(v)) > 1), false
}

// isPointer tells whether a value is too large for a number that many calls pass.
func isPointer(v uint64) bool { return v > 1<<16 && -v > 1<<16 }

// value is the value of an operand.
func (s *siblings) value(o *Operand, regs *cpu.Registers) (v uint64, ok bool) {
	mask := s.snap.Arch.AddrMask()
	switch {
	case o.Kind == Number:
		return uint64(o.Off) & mask, true
	case o.Kind == Anything:
		return 0, false
	case o.Reg == s.snap.Arch.SP:
		v, ok = s.cfa, true
	default:
		v, ok = regs.Lookup(o.Reg)
	}
	v = (v + uint64(o.Off)) & mask
	if ok && o.Kind == InMemory {
		return s.snap.Memory.Word(v)
	}
	return v, ok
}
