package ehabi

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/unwind"
)

// TestRecordedChains unwinds the recorded stacks from the first frame that has
// made a call, as far as the table goes, and compares every step. A frame whose
// CFA the innermost frame's rule cannot tell (it is in a prologue) starts with SP
// only.
func TestRecordedChains(t *testing.T) {
	right := 0
	for _, rec := range recorded.Cases(t, "arm*/*") {
		for _, c := range captured.Corpus(t, &rec, "stripped") {
			right += checkChain(t, &c)
		}
	}
	t.Log(right, "steps")
	if right < 200 {
		t.Errorf("only %d steps were compared", right)
	}
}

func checkChain(t *testing.T, c *captured.Case) (right int) {
	t.Helper()
	mod := c.Snapshot.Modules[0]
	arch := mod.Image.Arch
	var regs cpu.Registers
	if c.Frames[0].CFA == nil {
		return 0
	}
	regs.Set(arch.SP, uint64(*c.Frames[0].CFA))
	for i := 1; i+1 < len(c.Frames); i++ {
		f, next := &c.Frames[i], &c.Frames[i+1]
		if f.Kind != "call" || f.CFA == nil {
			return right
		}
		var rule stackwalk.Rule
		rule.Reset()
		q := stackwalk.Query{Image: mod.Image, Arch: arch, PC: uint64(f.PC) - 1}
		if (Source{}).Rule(&q, &rule) != unwind.Found {
			return right
		}
		var caller cpu.Registers
		res, oc := evaluate.Rule(arch, &rule, &regs, c.Snapshot.Memory, 0, &caller)
		if oc != evaluate.Applied {
			return right // by a register that is not known
		}
		if res.CFA != uint64(*f.CFA) || res.PC&^1 != uint64(next.PC) {
			t.Errorf("%s step %d frame %d %s: CFA %#x PC %#x, want %#x %#x by %s", c.Prog, c.Step, i, f.Func,
				res.CFA, res.PC, *f.CFA, next.PC, rule.Format(arch))
			return right
		}
		regs = caller
		right++
	}
	return right
}
