package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
)

// TestLinkSpent: a call that has returned leaves in the link register where it returned to, which is no caller. Where the call goes
// to the instruction behind it, a function begins there, and the call is its caller's. A frame that stands at the call is none
// that the call has made.
func TestLinkSpent(t *testing.T) {
	arch := o32()
	const at = 0x400000
	m := synth.Module(arch, at, []byte{
		0x0c, 0x10, 0x00, 0x10, // jal 400040
		0, 0, 0, 0, //             nop
		0, 0, 0, 0, //             nop          400008
		0x04, 0x11, 0x00, 0x01, // bal 400014
		0, 0, 0, 0, //             nop
		0, 0, 0, 0, //             a function   400014
	})
	snap := synth.Capture(arch, []*target.Module{m})
	for _, c := range []struct {
		pc, ra uint64
		want   bool
	}{
		{at + 8, at + 8, true},
		{at + 8, at + 0x14, false},
		{at + 12, at + 12, false}, // no call stands before
		{at + 0x14, at + 0x14, false},
		{at, at + 8, true},      // at the call that left it
		{at + 4, at + 8, false}, // at no call
		{at - 8, at + 8, false},
	} {
		s := stackwalk.State{Snapshot: snap, Module: m, PC: c.pc, Exact: true, Regs: synth.Regs(arch, map[string]uint64{"ra": c.ra})}
		if got := s.LinkSpent(); got != c.want {
			t.Errorf("pc %x, ra %x: %v", c.pc, c.ra, got)
		}
	}
}
