package chain

import (
	"slices"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// goesElsewhere tells whether the call before f is one through a register whose value constants
// tell, and cannot have led to callee: modules for MIPS call all functions so (-mlong-calls).
func (s *splicer) goesElsewhere(f, callee *unwind.Frame) bool {
	graph, snap := s.graph, s.snap
	if graph == nil || callee.Method == none || !f.Checks.Has(unwind.CallBefore) || f.Checks&(unwind.TargetMatches|unwind.TargetUnclear) != 0 || !stackwalk.CodeKnown(callee) {
		return false
	}
	entry, mode, ok := s.destination(f)
	if !ok {
		return false
	}
	leads, _, _ := graph.Reaches(snap, entry, mode, callee.CallSite)
	return leads == stackwalk.No
}

// cannotCall tells whether the call before caller cannot have led to callee, a frame whose code is
// missing: a direct call does not leave the kernel for a module, where all ways out of the
// called function are known. So vprintk_default, left over on the stack, called no driver.
func (s *splicer) cannotCall(caller, callee *unwind.Frame) bool {
	if callee.Module == nil || callee.Module.Image != nil {
		return false
	}
	entry, mode, ok := s.destination(caller)
	if !ok || callee.Module.Contains(entry) {
		return false
	}
	leads, _, _ := s.graph.Reaches(s.snap, entry, mode, caller.CallSite)
	return leads == stackwalk.No || leads == stackwalk.Yes
}

// cannotPoint tells whether callee is a frame that the call of caller through a pointer cannot have led
// to. Another module's code may build the address of a function that no pointer of callee's own module
// leads to: drivers for MIPS call __udelay of the kernel so.
//
// A function that nothing but some calls of its own module lead to is reached by no pointer from
// anywhere. A console that loses the line of crashy_write, between these two, leaves
//
//	warn_a ◄ proc_reg_write    blr x4; one bl leads to warn_a, in crashy_write
//
// And without the line of proc_reg_write
//
//	crashy_write ◄ vfs_write    reads what it calls at an offset at which no table holds crashy_write
//
// And of a timer's interrupt, without the line of the handler:
//
//	hrtimer_interrupt ◄ handle_percpu_devid_irq    passes a number where the other takes an address
func (s *splicer) cannotPoint(caller, callee *unwind.Frame) bool {
	graph := s.graph
	if graph == nil || callee.Method == none || callee.Module == nil {
		return false
	}
	if callee.Module == caller.Module && graph.CalledByPointer(callee.Module, callee.CallSite, callee.Mode) == stackwalk.No {
		return true
	}
	if graph.MayLead(caller.Module, caller.PC, caller.Mode, callee.Module, callee.CallSite) == stackwalk.No {
		return true
	}
	calls := graph.Callers(nil, callee.Module, callee.CallSite, callee.Mode)
	return calls.All && len(calls.Returns) > 0 && !slices.Contains(calls.Returns, caller.PC)
}
