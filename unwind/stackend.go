package unwind

import "github.com/backsight/backsight/target"

// endSlack is how far from the end of a thread's stack its outermost frame may lie: kernels
// align the first stack pointer, and keep a few words above it (FreeRTOS one, NuttX the
// thread's local storage).
const endSlack = 64

// endsStack tells whether c, the caller of s, is none: s runs the function that its thread
// began in, which nobody called. Its return address is what the kernel put there: that of a
// function which ends the thread, or of the function itself, where the first switch to the
// thread is a return. No call stands before such an address, and the stack ends behind it.
// Where the capture does not state the bounds of the stack, only the function's own address
// can be told from damage.
//
// Example: a cooperative kernel on RISC-V begins a thread with the address of its function
// in ra; the function before it in memory would be taken for its caller.
func endsStack(s *State, c *candidate) bool {
	if c.Exact || !c.HasCFA || c.checks&(CallBefore|AtTrampoline|CodeMissing) != 0 {
		return false
	}
	itself := c.start != 0 && s.Module != nil && c.pc == s.Module.ToTarget(c.start)
	return itself || s.atStackEnd(c.CFA)
}

// atStackEnd tells whether an address is where the stack of the thread begins, as the
// capture states it.
func (s *State) atStackEnd(cfa uint64) bool {
	if s.Thread == nil {
		return false
	}
	stack := s.Thread.Stack
	return stack != (target.Range{}) && cfa <= stack.Hi && stack.Hi-cfa <= endSlack && cfa > stack.Lo
}
