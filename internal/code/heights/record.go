package heights

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// record writes down which state holds where. cur is the state before the instruction
// at hand; states that are written down get a number.
type record struct {
	sp         cpu.Reg
	cur        state
	changed    bool   // cur may be another state than states[last]
	last       uint32 // the number that cur had
	rowed      uint32 // the number in the row that was written last
	states     []state
	rows       []Row          // by address
	unstable   cpu.RegSet     // pointers that different paths leave at different heights
	makesFrame bool           // some state has SP elsewhere than on entry
	watch      stepping.Watch // in the state with the number watched
	watched    uint32
}

// reset begins a record with cur as state 0.
func (r *record) reset() {
	r.rows, r.states = r.rows[:0], append(r.states[:0], r.cur)
	r.changed, r.last, r.makesFrame, r.watched = false, 0, false, disasm.None
}

// resume makes a numbered state the one at hand.
func (r *record) resume(number uint32) {
	r.cur, r.last, r.changed = r.states[number], number, false
}

// replace makes s the state at hand.
func (r *record) replace(s *state) { r.cur, r.changed = *s, true }

// meet keeps in the state at hand what also holds in s; false where SP has no height then.
func (r *record) meet(s *state) bool {
	r.cur.meet(s)
	r.changed = true
	return r.cur.pointers.Has(r.sp)
}

// exec executes an instruction that does not transfer control.
func (r *record) exec(m *interp, in *cpu.Insn) bool {
	var w stepping.Watch
	m.watch(&w, &r.cur)
	return w.Idle(in) || r.step(m, in)
}

// watching is what tells idle instructions in the state at hand, which has a number.
func (r *record) watching(m *interp) *stepping.Watch {
	if r.watched != r.last {
		r.watched = r.last
		m.watch(&r.watch, &r.cur)
	}
	return &r.watch
}

// step executes an instruction that is not idle and does not transfer control. A store that writes no address back can
// change nothing but where registers are.
func (r *record) step(m *interp, in *cpu.Insn) bool {
	kept, saved := r.cur.kept, r.cur.saved
	ok := m.step(&r.cur, in)
	if in.Op != cpu.OpStore || in.WB != 0 || r.cur.kept != kept || r.cur.saved != saved {
		r.changed = true
	}
	return ok
}

// number makes last the number of the state at hand.
func (r *record) number() {
	if r.changed {
		r.numberAnew()
	}
}

func (r *record) numberAnew() {
	if r.cur.pointers &^= r.unstable; !r.cur.equal(&r.states[r.last]) {
		r.last = uint32(len(r.states))
		r.states = append(r.states, r.cur)
	}
	r.changed = false
	r.makesFrame = r.makesFrame || r.cur.height[r.sp] != 0
}

// join brings the state at hand to a place that another path has brought a numbered state
// to, and returns the number of what holds on both paths; false where SP has no height then.
func (r *record) join(other uint32) (uint32, bool) {
	if other == r.last {
		return other, true
	}
	both := r.states[other]
	both.meet(&r.cur)
	if !both.pointers.Has(r.sp) {
		return 0, false
	}
	if both.equal(&r.states[other]) {
		return other, true
	}
	r.states = append(r.states, both)
	return uint32(len(r.states) - 1), true
}

// begin writes a row at an offset where a path begins, even if the row before says the
// same: rows of other paths may come between.
func (r *record) begin(at uint32) {
	r.number()
	r.put(at)
}

// row notes that the state at hand holds from an offset on.
func (r *record) row(at uint32) {
	if r.number(); r.last != r.rowed {
		r.put(at)
	}
}

func (r *record) put(at uint32) {
	r.rowed = r.last
	switch i, exact := r.find(at); {
	case exact:
		r.rows[i].Heights = r.last
	case i == len(r.rows):
		r.rows = append(r.rows, Row{at, r.last})
	default:
		r.rows = slices.Insert(r.rows, i, Row{at, r.last})
	}
}

// find is findRow in the rows written so far: most often the offset lies behind all.
func (r *record) find(at uint32) (int, bool) {
	if n := len(r.rows); n > 0 && r.rows[n-1].At < at {
		return n, false
	}
	return findRow(r.rows, at)
}

// at is the state that was written down for an offset.
func (r *record) at(at uint32) *state {
	i, exact := r.find(at)
	if !exact {
		i--
	}
	return &r.states[r.rows[i].Heights]
}

// agrees tells whether all that is written down for a visited place holds in the state at
// hand. Where a pointer alone differs, that pointer is unstable.
func (r *record) agrees(at uint32) bool {
	was := r.at(at)
	differ := was.otherHeights(&r.cur)
	if was.otherPlaces(&r.cur) != 0 || differ.Has(r.sp) {
		return false
	}
	r.unstable |= differ
	return differ == 0
}

// write makes what was written down the rows and frames of a table.
func (r *record) write(t *Table) {
	slots := 0
	for i := range r.states {
		slots += r.states[i].saved.Len()
	}
	t.Rows, t.Frames, t.slots = slices.Clone(r.rows), make([]SavedRegs, len(r.states)), make([]int32, 0, slots)
	for i := range r.states {
		s := &r.states[i]
		t.Frames[i] = SavedRegs{s.kept, s.saved, s.height[r.sp], uint32(len(t.slots))}
		for set := s.saved; set != 0; set &= set - 1 {
			t.slots = append(t.slots, s.slot[set.First()])
		}
	}
	t.MakesFrame = r.makesFrame
}
