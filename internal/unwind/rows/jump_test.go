package rows

import (
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestJumps: where ARM code jumps to is ARM code, though Thumb code was read before, to which data seems to
// point; what is read of that ends where the jump leads to. In programs of one mode nothing is noted.
func TestJumps(t *testing.T) {
	const arm, thumb = 0, 1
	branch := cpu.Insn{Op: cpu.OpJump, Target: 0x1002c, TargetMode: arm, Flags: cpu.FlagConditional}
	l := lister{jumps: make(map[uint64]cpu.Mode), moded: []moded{{pc: 0x10020, mode: thumb}}}
	l.jump(&branch)
	l.mode, l.reached = thumb, false
	if got := l.clamp(0x1002a, 0x1002e); got != 0x1002c {
		t.Errorf("an instruction over the target ends at %#x", got)
	}
	if l.enter(0x1002c); l.mode != arm || !l.reached {
		t.Errorf("at the target: mode %d, reached %t", l.mode, l.reached)
	}
	one := lister{jumps: make(map[uint64]cpu.Mode)}
	if one.jump(&branch); len(one.jumps) > 0 {
		t.Errorf("%v in a program of one mode", one.jumps)
	}
}
