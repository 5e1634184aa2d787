// Package shadow finds a caller on the thread's shadow stack, where the stack itself leads nowhere: it was overwritten, or
// the registers that say where the frame lies are lost. The return address is all that is kept there. See stackwalk.State.ShadowReturn.
package shadow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source is the stackwalk.FrameSource of shadow stacks.
type Source struct{ graph stackwalk.CallGraph }

var _ stackwalk.FrameSource = Source{}

// New returns a source that asks graph whether a function has pushed its return address.
func New(graph stackwalk.CallGraph) Source { return Source{graph} }

// Method is MethodShadow.
func (Source) Method() unwind.Method { return unwind.MethodShadow }

// Step finds the caller's PC. Its other registers are unknown, and so is the CFA.
func (f Source) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	ra, ok := s.ShadowReturn(f.graph)
	if !ok {
		return unwind.NotCovered
	}
	out.Regs = cpu.Registers{}
	out.Regs.Set(s.Snapshot.Arch.PC, ra)
	return unwind.Found
}
