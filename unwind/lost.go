package unwind

import (
	"github.com/backsight/backsight/cpu"
)

// reported tells whether the capture is a report: it prints some words of the stack, and lists frames.
func (s *State) reported() bool { return s.Thread != nil && len(s.Thread.Listed) > 0 }

// returnsToTracer tells whether c, the caller of s, has a tracer's address as its PC, in place of the one
// that the tracer keeps and a report does not print.
func (s *State) returnsToTracer(c *candidate) bool {
	if !s.reported() || c.Exact || len(s.Thread.Hooked) > 0 {
		return false
	}
	pc, _ := s.Snapshot.Arch.SplitCode(c.raw)
	return s.Snapshot.IsHook(pc)
}

// keepPreserved sets the registers that calls preserve and that a frame with this rule saved nowhere: they are the
// caller's, wherever the return address is.
func keepPreserved(out, in *cpu.Registers, rule *Rule, arch *cpu.Arch) {
	for set := in.Known & preserved(arch); set != 0; set = set.Without(set.First()) {
		if r := set.First(); rule.Of(r).Kind == Unspecified {
			out.Set(r, in.Val[r])
		}
	}
}

// preserved are the registers that calls preserve, but for those that say where the frame is.
func preserved(arch *cpu.Arch) cpu.RegSet {
	return arch.Preserved.Without(arch.SP).Without(arch.PC)
}

// keepUnwritten sets the registers that s has saved, at a place that was not captured, and has not written since.
func keepUnwritten(out *cpu.Registers, s *State, graph CallGraph) {
	arch := s.Snapshot.Arch
	if !s.reported() || s.Exact || graph == nil {
		return
	}
	for set := s.Regs.Known & preserved(arch) &^ out.Known; set != 0; set = set.Without(set.First()) {
		r := set.First()
		if graph.Passes(s.Module, s.PC, s.Mode, r) == (Operand{Kind: InRegister, Reg: r}) {
			out.Set(r, s.Regs.Val[r])
		}
	}
}
