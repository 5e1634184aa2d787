package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// LeavesException implements unwind.CallGraph.
func (s *Graph) LeavesException(m *target.Module, pc uint64, mode cpu.Mode) unwind.Answer {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return unwind.Unknown
	}
	ways := s.of(m.Image).Flows.ReturnPaths(disasm.Addr{PC: inImage(m, pc), Mode: mode}, false)
	n, comesBack := 0, false
	for _, w := range ways {
		if w.Exception {
			n++
		}
		comesBack = comesBack || !w.Exception && !w.Tail // arm64's entry code ends in b ret_to_kernel
	}
	switch {
	case n == len(ways) && n > 0:
		return unwind.Yes
	case n == 0 && comesBack:
		return unwind.No
	}
	return unwind.Unknown
}
