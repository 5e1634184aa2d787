package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// endSlack is how far from the end of a thread's stack its outermost frame may lie: kernels
// align the first stack pointer, and keep a few words above it (FreeRTOS one, NuttX the
// thread's local storage).
const endSlack = 64

// endsStack tells whether c, the caller of s, is none: s runs the function that its thread
// began in, which nobody called. Its return address is what the kernel or a library of coroutines put there: that of a
// function which ends the thread, or of the function itself, where the first switch to the
// thread is a return. No call stands before such an address, and the stack ends behind it.
// Where the capture does not state the bounds of the stack, the function's own address alone
// can be told from damage, and code that ends a thread and is entered so (CallGraph.EndsThread): the walk lists that code.
//
// Example: a cooperative kernel on RISC-V begins a thread with the address of its function
// in ra; the function before it in memory would be taken for its caller.
func (v *verifier) endsStack(s *State, c *candidate) bool {
	if c.Exact || !c.HasCFA || c.checks&(unwind.CallBefore|unwind.AtTrampoline|unwind.CodeMissing) != 0 {
		return false
	}
	itself := c.start != 0 && s.Module != nil && c.pc == s.Module.ToTarget(c.start)
	switch {
	case itself, s.atStackEnd(c.CFA):
		return true
	case c.checks.Has(unwind.NoCall) && v.graph != nil && v.graph.EndsThread(c.module, c.pc, c.mode):
		c.site, c.Exact, c.exits = c.pc, true, c.checks&^unwind.NoCall|unwind.ThreadStart
		return true
	}
	return false
}

// withinStack is how many of a walk's frames have words of the thread's stack, as the capture states its high end: what lies above
// is another's. left: the frames lead out of the stack by more than a guess. A thread that stands on another stack may come back,
// and entry code of a kernel leads to a program's stack.
func withinStack(snap *target.Snapshot, t *target.Thread, frames []unwind.Frame) (n int, left bool) {
	stack, mask := t.Stack, snap.Arch.AddrMask()
	if stack.Lo == stack.Hi {
		return len(frames), false
	}
	at, ok := t.Regs.Lookup(snap.Arch.SP)
	at &= mask
	within := ok && stack.Contains(at)
	for i := range frames {
		f := &frames[i]
		if !f.HasCFA {
			break
		}
		cfa := f.CFA & mask
		entered := i+1 < len(frames) && frames[i+1].Exact && cfa-stack.Hi > plainFrame
		if within && cfa > stack.Hi && !entered {
			if left = f.Trust > unwind.Guess; at < stack.Hi {
				i++
			}
			return i, left
		}
		at, within = cfa, cfa > stack.Lo && cfa <= stack.Hi
	}
	return len(frames), false
}

// doubtLeft judges frames that lead out of the thread's stack. One word on the way is not the thread's:
//
//	#3  deeper    its caller would lie beyond the stack
//	#2  deeper    ◄─ call deeper: proven, but by the words of a neighbour that overflowed into this stack
//	#1  output    ◄─ call *%a5: what led here is the first word that nothing proves
//	#0  wait
func doubtLeft(frames []unwind.Frame) {
	trust := unwind.Certain
	for i := 1; i < len(frames); i++ {
		f := &frames[i]
		if !f.Checks.Proven() {
			trust = unwind.Guess
		} else if i == len(frames)-1 {
			trust = min(trust, unwind.Likely)
		}
		LimitTrust(f, trust, unwind.CapBeyondStack)
	}
}

// entrySlack bounds what lies behind the last register that entry code saved: status
// words, the number of the system call, arm64's frame record and interrupt mask (80 bytes),
// and what is kept free at the end of the stack (MIPS: 32 bytes). An exception of the kernel
// itself leaves more: the registers of user space lie behind.
const entrySlack = 128

// savedUpTo is the highest address from which a rule recovers a register.
func savedUpTo(regs *cpu.Registers, rule *Rule, cfa uint64) (top uint64) {
	at := func(rr *RegRule) {
		base, ok := cfa, rr.Kind == AtCFA
		if rr.Kind == AtReg {
			base, ok = regs.Lookup(rr.Base)
		}
		if ok {
			top = max(top, base+uint64(rr.Off))
		}
	}
	at(&rule.RA)
	for i := range rule.N {
		at(&rule.Regs[i])
	}
	return top
}

// returnsToOwnStack tells whether a CFA lies on the thread's own stack, as the capture states
// that, while SP lies elsewhere: on a stack of interrupts, be that below or above.
func (s *State) returnsToOwnStack(cfa uint64) bool {
	sp, ok := s.Regs.Lookup(s.Snapshot.Arch.SP)
	own := s.statedStack()
	return ok && own.Contains(cfa) && !own.Contains(sp)
}

// atStackEnd tells whether an address is where the stack of the thread begins, as the
// capture states it.
func (s *State) atStackEnd(cfa uint64) bool {
	stack := s.statedStack()
	return stack != (target.Range{}) && cfa <= stack.Hi && stack.Hi-cfa <= endSlack && cfa > stack.Lo
}

// stackIsEmpty tells whether SP is where the thread's stack begins, as the capture states it:
// no caller has a frame there. Example: ChibiOS begins a thread in code that calls the thread's
// function, and pushes nothing.
func (s *State) stackIsEmpty() bool {
	sp, ok := s.Regs.Lookup(s.Snapshot.Arch.SP)
	stack := s.statedStack()
	return ok && stack.Lo < stack.Hi && sp == stack.Hi
}
