package scan

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
)

// dear is a CallGraph whose answers cost a tenth of a walk each.
type dear struct {
	reach
	asked *int
}

func (d dear) Reaches(*target.Snapshot, uint64, cpu.Mode, uint64) (stackwalk.Answer, bool, uint64) {
	*d.asked++
	return stackwalk.No, true, stackwalk.MaxCost / 10
}

// TestCostOfAScan: the return addresses of a stack are asked about until the walk has cost
// as much as a walk may.
func TestCostOfAScan(t *testing.T) {
	a := arm64.Archs()[0]
	words := slices.Repeat([]uint64{codeAt + 8}, 200)
	s := captured.State(capture(a, synth.Stack(a).Words(words...).Place(stackAt)),
		synth.Regs(a, map[string]uint64{"pc": codeAt + 0x310, "sp": stackAt}), false)
	asked := 0
	var out stackwalk.Caller
	New(dear{asked: &asked}).Step(s, &out)
	if asked < 10 || asked > 12 || s.Cost <= stackwalk.MaxCost {
		t.Errorf("%d questions, the walk has cost %d", asked, s.Cost)
	}
}
