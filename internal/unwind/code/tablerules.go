package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
)

// keptRules bounds the rules that are kept. Functions have the frames of others: of 760,000 frames in the tables of libLLVM
// 950 differ in their rules.
const keptRules = 1 << 10

// tableRules are the rules of the frames of tables, packed.
type tableRules struct {
	arch  *cpu.Arch
	kept  [keptRules]*packedRule // by hash of the frame
	table *heights.Table
	rules []*packedRule  // of the table's frames, nil where nobody has asked
	rule  stackwalk.Rule // scratch
}

// packedRule is the rule of frames with the same slots, of functions anywhere. has: they have a rule.
type packedRule struct {
	frame heights.SavedRegs
	slots []int32
	row   packed.Row
	has   bool
}

// of is the rule of a table's frame.
func (r *tableRules) of(t *heights.Table, frame uint32) *packedRule {
	if r.table != t {
		r.table, r.rules = t, append(r.rules[:0], make([]*packedRule, len(t.Frames))...)
	}
	p := r.rules[frame]
	if p == nil {
		p = r.find(t, &t.Frames[frame])
		r.rules[frame] = p
	}
	return p
}

// find is the rule of a frame, kept or new.
func (r *tableRules) find(t *heights.Table, f *heights.SavedRegs) *packedRule {
	slots := t.Slots(f)
	kept := &r.kept[hashOf(f, slots)%keptRules]
	if p := *kept; p != nil && p.frame.Kept == f.Kept && p.frame.Saved == f.Saved && p.frame.SP == f.SP && slices.Equal(p.slots, slots) {
		return p
	}
	p := &packedRule{frame: *f, slots: slices.Clone(slots), row: packed.Row{Flags: rules.HeightFlags}}
	if p.has = rules.FromHeights(t, f, r.arch, &r.rule); p.has {
		p.row.Rule, p.row.Packs = packed.Of(r.arch, &r.rule)
	}
	*kept = p
	return p
}

// hashOf mixes what tells frames apart.
func hashOf(f *heights.SavedRegs, slots []int32) uint64 {
	const factor = 0x9e37_79b9_7f4a_7c15 // 2⁶⁴/φ
	h := (uint64(f.Kept)*factor^uint64(f.Saved))*factor ^ uint64(f.SP)
	for _, s := range slots {
		h = h*factor ^ uint64(s)
	}
	return h * factor >> 40
}
