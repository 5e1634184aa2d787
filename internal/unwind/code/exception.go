package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// leavesException tells whether the point lies in code that exceptions enter. Nobody called
// that code, so that no rule follows from an entry: the link register at the entry belongs to the
// interrupted code.
func (s *search) leavesException() bool {
	return len(s.ways) > 0 && !slices.ContainsFunc(s.ways, func(w wayOut) bool { return !w.Exception })
}

// LeavesException implements unwind.CallGraph.
func (s *Source) LeavesException(m *target.Module, pc uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	ways := s.of(m.Image).flows.ReturnPaths(disasm.Addr{PC: inImage(m, pc), Mode: mode}, false)
	return len(ways) > 0 && !slices.ContainsFunc(ways, func(w dataflow.ReturnPath) bool { return !w.Exception })
}
