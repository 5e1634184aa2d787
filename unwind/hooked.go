package unwind

import "github.com/backsight/backsight/target"

// unhook replaces a return address that is a tracer's by the one that the tracer keeps. Linux's
// function_graph tracer and its kretprobes learn so that a function returns:
//
//	stack, where f returns to   return_to_handler
//	task_struct.ret_stack       g+0x1c, f, FP of g
//
// What follows from the tracer's entry is checked like any return address: the call before it
// goes to f.
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
	c.checks |= ReturnHooked
	if !sure {
		c.checks |= Disputed
	}
	if h.Function != 0 {
		c.hooked = len(s.Thread.Hooked) - k
	}
}

// hookedCall is the index of what the tracer kept of the call from which s returns to c, −1 where
// nothing was found. The tracer tells calls apart by a place on the stack, and the entry is sure
// where its function is that of s, too. Where the kernel keeps no places, the entry is the first
// of that function further out than those that the walk has used; sure is the very next one.
func (v *verifier) hookedCall(s *State, c *candidate) (k int, sure bool) {
	list := s.Thread.Hooked
	at := -1
	for i := range list {
		if isPlaceOf(&list[i], s, c) {
			if v.inFunction(s, &list[i]) {
				return originalAt(list, i, s, c), true
			}
			at = i
		}
	}
	if at >= 0 {
		return originalAt(list, at, s, c), false
	}
	for i := len(list) - s.hooked - 1; i >= 0; i-- {
		if h := &list[i]; h.Places == [2]uint64{} && h.Function != 0 && v.inFunction(s, h) {
			sure = s.hooked > 0 && i == len(list)-s.hooked-1
			for i >= 0 && s.Snapshot.IsHook(list[i].Return) {
				i--
			}
			return i, sure
		}
	}
	return -1, false
}

// originalAt is k, or where that entry returns to a tracer again, another one of the same place:
// of a function that was hooked twice, or that jumped to the one of entry k. Such entries stand
// right before k.
func originalAt(list []target.HookedReturn, k int, s *State, c *candidate) int {
	for n := range list {
		i := (k - n + len(list)) % len(list)
		if !s.Snapshot.IsHook(list[i].Return) && isPlaceOf(&list[i], s, c) {
			return i
		}
	}
	return -1
}

// isPlaceOf tells whether a tracer knows a call by the place where s returns to c: the word that
// held the return address, or c's stack or frame pointer.
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
