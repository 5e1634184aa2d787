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
	Size uint8 // of InMemory, in bytes; 0: a word
	Of   *Term // of Computed
}

// Term is the low 32 bits of what an instruction makes of one value or two: cpu.OpAdd, OpSub and OpOr
// of A and of B shifted by Scale; OpAddImm, OpAndImm, OpOrImm, OpShlImm and OpShrImm of A and Imm. OpLoad
// is the whole word at A plus Imm.
type Term struct {
	Op    cpu.Op
	A, B  Operand
	Imm   int64
	Scale uint8
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
	Computed                      // Of
)

// Clue is a value that tells two calls of one function apart: the value is Own if the frame's own
// call was running, and Other if the sibling was.
type Clue struct {
	What, Own, Other Operand
	// OfCallee: What stands in the callee's frame, where the callee keeps an argument; else in
	// the caller's frame.
	OfCallee bool
	// Straight: the other call goes to the callee's entry, not by way of other functions, which
	// may pass other values on.
	Straight bool
}

// siblings checks frames whose return address differs in one bit from the return address of another
// call in the same function (a sibling). The check compares values that only one of the two calls leaves
// behind: arguments that the callee keeps in a register or a slot, and words that the caller stored
// right before the call.
//
//	404  mov $1,%esi; mov %rbx,%rdi; call f        f: mov %rdi,%r12
//	414  mov $2,%esi; mov %rbp,%rdi; call f           …
//
// In f, r12 holds the value of the caller's rbx, not of its rbp: the first call was running. If
// one bit of the second call's return address had been lost, r12 would hold the value of rbp.
type siblings struct {
	snap           *target.Snapshot
	finder         *finder
	at             int // caller has the registers of frame at, callee those of the frame before
	callee, caller cpu.Registers
	cfa            uint64 // the callee's
	held           heldAddress
	moved          uint64 // from where the caller's module was linked to where it lies
	proven         []int  // see proveThrough
}

// weighLostBits looks at the frames of which another call is one bit away, and at interrupted ones.
func (w *Walker) weighLostBits(snap *target.Snapshot, t *target.Thread, frames []Frame) {
	w.proveInTables(snap, frames)
	through := w.proveThrough(snap, t, frames)
	var checks Checks
	for i := range frames {
		checks |= frames[i].Checks
	}
	if checks.has(OneBitAway) {
		siblingsIn(w, snap).weigh(t, frames)
	}
	w.weighElsewhere(snap, t, frames, through)
}

// siblingsIn are those that look at frames of a snapshot.
func siblingsIn(w *Walker, snap *target.Snapshot) *siblings {
	if w.siblings == nil {
		w.siblings = &siblings{finder: &w.finder}
	}
	w.siblings.snap, w.siblings.at = snap, 0
	return w.siblings
}

// recover recovers the registers of frame i, and of the frame before, from those of frame at or from the thread's.
func (s *siblings) recover(t *target.Thread, frames []Frame, i int) bool {
	if s.at == 0 {
		s.caller = t.Regs
	}
	for ; s.at < i; s.at++ {
		s.callee = s.caller
		if !s.finder.again(s.snap, &frames[s.at], &frames[s.at+1], &s.callee, &s.caller) {
			return false
		}
	}
	s.cfa, s.moved = frames[i-1].CFA, frames[i].Module.Bias
	return true
}

// maxWeighed bounds the frames of a walk whose siblings are looked at.
const maxWeighed = 256

// weigh takes the doubt away from the frames whose siblings' values are not there.
func (s *siblings) weigh(t *target.Thread, frames []Frame) {
	left := maxWeighed
	for i := 1; i < len(frames) && left > 0; i++ {
		f := &frames[i]
		if !f.Checks.has(OneBitAway) || !frames[i-1].HasCFA {
			continue
		}
		left--
		var inner *Frame
		if i > 1 {
			inner = &frames[i-2]
		}
		others := s.finder.verifier.graph.Witnesses().Clues(s.snap, inner, &frames[i-1], f)
		if len(others) == 0 {
			continue
		}
		if !s.recover(t, frames, i) {
			return
		}
		if s.excludeAll(others) {
			f.Checks &^= OneBitAway
		}
	}
}

// excludeAll tells whether every sibling is excluded by one of its clues, and no clue contradicts the
// frame. others has a list of clues for each sibling.
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

// tell tells whether a clue excludes the sibling, and whether the clue contradicts the frame. Above an
// int of 32 bits in a register of 64 bits anything may stand: two values differ if their lower 32
// bits do. Values that differ in one bit may be one value before and after the loss of that bit, and
// exclude nothing, unless the frame's own call passes the very value that was found.
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
	agrees := known && s.same(&c.Own, own, v)
	if known && !agrees && !c.Own.reads() {
		return false, true
	}
	is := agrees && own == v && c.Own.Kind == InRegister && isPointer(v)
	other, has := s.value(&c.Other, &s.caller)
	switch {
	case c.Other.Kind == InMemory:
		return is && (!has || other != v), false
	case !has || s.same(&c.Other, other, v):
		return false, false
	case is || !c.Straight:
		return is, false
	}
	agrees = agrees && !s.elsewhere(&c.Own)
	return agrees || !c.Other.reads() && !mayBeOld(c, other) && bits.OnesCount32(uint32(other)^uint32(v)) > 1, false
}

// mayBeOld tells whether a clue is nothing but a pointer that the other call would pass as far as code tells: the
// caller may have loaded the pointer from a word that a function which knows the word's address has written over
// since. Example: evalcommand of busybox sets cmdentry.u.cmd to a builtin command, has find_command look for another
// one, and passes cmdentry.u.cmd to evalbltin.
func mayBeOld(c *Clue, other uint64) bool {
	return c.Own.Kind == Anything && c.Other.Kind == Number && isPointer(other)
}

// same tells whether v may be what an operand's value was. A number may be an address, which moves
// with the program.
func (s *siblings) same(o *Operand, value, v uint64) bool {
	return uint32(value) == uint32(v) || o.Kind == Number && uint32(value+s.moved) == uint32(v)
}

// reads tells whether an operand is read from memory, which may have changed since the call.
func (o *Operand) reads() bool {
	return o.Kind == InMemory || o.Kind == Computed && (o.Of.A.reads() || o.Of.B.reads())
}

// elsewhere tells whether an operand lies in memory that is not the caller's frame.
func (s *siblings) elsewhere(o *Operand) bool { return o.Kind == InMemory && o.Reg != s.snap.Arch.SP }

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
	case o.Kind == Computed:
		return s.compute(o.Of, regs)
	case o.Reg == s.snap.Arch.SP:
		v, ok = s.cfa, true
	default:
		v, ok = regs.Lookup(o.Reg)
	}
	v = (v + uint64(o.Off)) & mask
	switch {
	case !ok || o.Kind != InMemory:
		return v, ok
	case o.Size != 0:
		return s.snap.Memory.Uint(v, int(o.Size))
	}
	return s.word(v)
}

// compute is the value of a term.
func (s *siblings) compute(t *Term, regs *cpu.Registers) (uint64, bool) {
	a, ok := s.value(&t.A, regs)
	b, both := uint64(0), true
	if t.B.Kind != Anything {
		b, both = s.value(&t.B, regs)
		b <<= t.Scale
	}
	switch t.Op {
	case cpu.OpLoad:
		v, is := s.word(a + uint64(t.Imm))
		return v, ok && is
	case cpu.OpAdd:
		a += b
	case cpu.OpSub:
		a -= b
	case cpu.OpOr:
		a |= b
	case cpu.OpAddImm:
		a += uint64(t.Imm)
	case cpu.OpAndImm:
		a &= uint64(t.Imm)
	case cpu.OpOrImm:
		a |= uint64(t.Imm)
	case cpu.OpShlImm:
		a <<= uint64(t.Imm)
	case cpu.OpShrImm:
		a = uint64(uint32(a)) >> uint64(t.Imm)
	default:
		return 0, false
	}
	return uint64(uint32(a)), ok && both
}
