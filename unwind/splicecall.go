package unwind

import "github.com/backsight/backsight/internal/callsite"

// cannotCall tells whether the call before caller cannot have led to callee, a frame whose code is
// missing: a direct call does not leave the kernel for a module, where all ways out of the
// called function are known. So vprintk_default, left over on the stack, called no driver.
func (s *splicer) cannotCall(caller, callee *Frame) bool {
	graph := s.verifier.graph
	if graph == nil || caller.Module == nil || caller.Module.Image == nil || callee.Module == nil || callee.Module.Image != nil {
		return false
	}
	site, kind := callsite.BeforeIn(s.state.Snapshot, caller.Module, caller.PC, caller.Mode)
	if kind != callsite.Call || !site.Direct || callee.Module.Contains(site.Target) {
		return false
	}
	leads, _, _ := graph.Reaches(s.state.Snapshot, site.Target, site.TargetMode, caller.CallSite)
	return leads == No || leads == Yes
}

// cannotPoint tells whether callee is a frame that a call through a pointer cannot have led to.
func (s *splicer) cannotPoint(callee *Frame) bool {
	graph := s.verifier.graph
	if graph == nil || callee.Method == methodCount || callee.Module == nil {
		return false
	}
	return graph.Witnesses().CalledByPointer(callee.Module, callee.CallSite, callee.Mode) == No
}
