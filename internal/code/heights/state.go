package heights

import "github.com/backsight/backsight/cpu"

// state is what holds before an instruction, in terms of SP on entry. Each preserved
// register and the link register has its value on entry in one of three places: in the
// register itself (kept), in a slot of the stack (saved), or nobody knows where.
type state struct {
	kept, saved cpu.RegSet
	pointers    cpu.RegSet // hold SP on entry plus their height; SP is one of them
	height      [cpu.MaxRegs]int32
	slot        [cpu.MaxRegs]int32 // heights of the slots of saved registers
}

// enter makes s what holds on entry.
func (s *state) enter(sp cpu.Reg, tracked cpu.RegSet) {
	s.kept, s.saved, s.pointers = tracked.Without(sp), 0, cpu.SetOf(sp)
	s.height[sp] = 0
}

// equal tells whether two states know the same.
func (s *state) equal(o *state) bool {
	return s.kept == o.kept && s.saved == o.saved && s.pointers == o.pointers && s.otherHeights(o) == 0 && s.otherPlaces(o) == 0
}

// otherPlaces are the registers whose value on entry s has in a place where o does not.
func (s *state) otherPlaces(o *state) cpu.RegSet {
	lost := s.kept&^o.kept | s.saved&^o.saved
	for both := s.saved & o.saved; both != 0; both &= both - 1 {
		if r := both.First(); s.slot[r] != o.slot[r] {
			lost = lost.With(r)
		}
	}
	return lost
}

// otherHeights are the pointers of s that are none in o, or have another height.
func (s *state) otherHeights(o *state) cpu.RegSet {
	lost := s.pointers &^ o.pointers
	for both := s.pointers & o.pointers; both != 0; both &= both - 1 {
		if r := both.First(); s.height[r] != o.height[r] {
			lost = lost.With(r)
		}
	}
	return lost
}

// meet keeps in s what also holds in o.
func (s *state) meet(o *state) {
	lost := s.otherPlaces(o)
	s.kept &^= lost
	s.saved &^= lost
	s.pointers &^= s.otherHeights(o)
}

// lose forgets what registers hold that got other values. Slots are not concerned.
func (s *state) lose(set cpu.RegSet) {
	s.kept &^= set
	s.pointers &^= set
}

// store notes a store of src, which may be no register, at a height. The slots that the
// store overwrites are lost; the first store of a kept register below SP on entry saves
// the register. Slots have the size of a register.
func (s *state) store(at int32, src cpu.Reg, size uint8, slotSize int) {
	for set := s.saved; set != 0; set &= set - 1 {
		if r := set.First(); s.slot[r] < at+int32(size) && at < s.slot[r]+int32(slotSize) {
			s.saved = s.saved.Without(r)
		}
	}
	if s.kept.Has(src) && at < 0 && int(size) == slotSize {
		s.kept, s.saved, s.slot[src] = s.kept.Without(src), s.saved.With(src), at
	}
}

// load notes a load into dst from a height: dst gets its value on entry back, or another
// value.
func (s *state) load(at int32, dst cpu.Reg, size uint8, slotSize int) {
	own := s.saved.Has(dst) && s.slot[dst] == at && int(size) == slotSize
	s.lose(cpu.SetOf(dst))
	if own {
		s.kept, s.saved = s.kept.With(dst), s.saved.Without(dst)
	}
}
