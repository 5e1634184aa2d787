// Package shadow finds a caller on the thread's shadow stack, where the stack itself leads nowhere: it was overwritten, or
// the registers that say where the frame lies are lost. The return address is all that is kept there. See unwind.State.ShadowReturn.
package shadow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// Source is the unwind.FrameSource of shadow stacks.
type Source struct{ graph unwind.CallGraph }

var _ unwind.FrameSource = Source{}

// New returns a source that asks graph whether a function has pushed its return address.
func New(graph unwind.CallGraph) Source { return Source{graph} }

// Method is MethodShadow.
func (Source) Method() unwind.Method { return unwind.MethodShadow }

// Step finds the caller's PC. Its other registers are unknown, and so is the CFA.
func (f Source) Step(s *unwind.State, out *unwind.Caller) unwind.Verdict {
	ra, ok := s.ShadowReturn(f.graph)
	if !ok {
		return unwind.NotCovered
	}
	out.Regs = cpu.Registers{}
	out.Regs.Set(s.Snapshot.Arch.PC, ra)
	return unwind.Found
}
