package stackwalk

import (
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// unhook replaces the return address of a tracer by the original, which the tracer keeps. Linux's
// function_graph tracer and its kretprobes overwrite return addresses to learn that a function
// returns:
//
//	stack, where f returns to   return_to_handler
//	task_struct.ret_stack       g+0x1c, f, FP of g
//
// The original is checked like any return address: the call before g+0x1c has to go to f.
func (v *verifier) unhook(s *State, c *candidate) {
	c.hooked = s.hooked
	if s.Thread == nil || c.Exact || !s.Snapshot.IsHook(c.pc) {
		return
	}
	k, sure := v.hookedCall(s, c)
	if k < 0 {
		return
	}
	h := &s.Thread.Hooked[k]
	c.raw = h.Return
	c.pc, c.mode = s.Snapshot.Arch.SplitCode(c.raw)
	c.checks |= unwind.ReturnHooked
	if !sure {
		c.checks |= unwind.Disputed
	}
	if h.Function != 0 {
		c.hooked = len(s.Thread.Hooked) - k
	}
}

// hookedCall is the index in Thread.Hooked of the tracer's entry for the call from which s returns
// to c, −1 where there is none. Entries of functions stand in the order of their calls, so that those up to
// the last one used are done with. A tracer tells calls apart by a place on the stack; the entry is sure
// where the entry's function is the function of s, too. Without a place the entry is the next for the function
// of s: a kernel may keep none, or one in the tracer's own frame, and is sure where it keeps none and no
// other entry was passed over.
//
// Example: on RISC-V worker_thread's entry has the frame pointer of its caller kthread, which is the stack pointer
// of kthread's caller; kthread's own entry has the address of the tracer's copy of ra.
func (v *verifier) hookedCall(s *State, c *candidate) (k int, sure bool) {
	list := s.Thread.Hooked
	at, next := -1, -1
	for i := range list {
		h := &list[i]
		if h.Function != 0 && i >= len(list)-s.hooked {
			continue
		}
		within := v.inFunction(s, h)
		switch {
		case !isPlaceOf(h, s, c):
			if within && h.Function != 0 {
				next = i
			}
		case within:
			return originalAt(list, i, s, c), true
		default:
			at = i
		}
	}
	if at >= 0 {
		return originalAt(list, at, s, c), false
	}
	if next >= 0 {
		sure = list[next].Places == [2]uint64{} && s.hooked > 0 && next == len(list)-s.hooked-1
	}
	for next >= 0 && s.Snapshot.IsHook(list[next].Return) {
		next--
	}
	return next, sure
}

// originalAt is k or, where entry k returns to a tracer again, another entry with the same place:
// the function was hooked twice, or a hooked function jumped to the function of entry k. Such
// entries stand right before k.
func originalAt(list []target.HookedReturn, k int, s *State, c *candidate) int {
	for n := range list {
		i := (k - n + len(list)) % len(list)
		if !s.Snapshot.IsHook(list[i].Return) && isPlaceOf(&list[i], s, c) {
			return i
		}
	}
	return -1
}

// isPlaceOf tells whether entry h is for the call from which s returns to c, by one of the entry's
// places: the word that held the return address, or c's stack pointer or frame pointer.
func isPlaceOf(h *target.HookedReturn, s *State, c *candidate) bool {
	arch := s.Snapshot.Arch
	sp, hasSP := c.Regs.Lookup(arch.SP)
	fp, hasFP := c.Regs.Lookup(arch.FP)
	for _, at := range h.Places {
		if at == 0 {
			continue
		}
		if hasSP && (at == sp&arch.AddrMask() || at == (sp-uint64(arch.AddrSize))&arch.AddrMask()) || hasFP && at == fp&arch.AddrMask() {
			return true
		}
	}
	return false
}

// inFunction tells whether s may be in the function that h is a call of.
func (v *verifier) inFunction(s *State, h *target.HookedReturn) bool {
	switch {
	case h.Function == 0 || v.graph == nil:
		return true
	case s.Module == nil || !s.Module.Contains(h.Function):
		return false
	}
	return v.graph.OneFunction(s.Module, h.Function, s.Site, s.Mode) != No
}
