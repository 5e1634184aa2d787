package code

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// sketch is what one pass through a function finds out, without joins to a fixpoint:
// where SP is and where each preserved register was saved, by address.
//
//	entry ──┬─ push rbx      CFA = rsp+8
//	        ├─ sub rsp,32    CFA = rsp+16  rbx = [CFA-16]
//	        ├─ je  1f        CFA = rsp+48      │
//	        ├─ …                 │             │
//	     1: ├─ add rsp,32    CFA = rsp+48  ◄───┘ must say the same
//	        ├─ pop rbx       CFA = rsp+16
//	        └─ ret           CFA = rsp+8   and everything is as it was on entry
//
// Nearly all functions that compilers make have the same frame on every way to a
// place. A sketch asserts that: an edge that says otherwise, a stack pointer that is
// not SP on entry plus a constant, a return with anything else than on entry, and
// there is no sketch; the analysis with joins (function) answers then. So its rules
// hold by two derivations that agree: forward from the entry, and from the place to
// a return that undoes it all.
type sketch struct {
	entry   uint64
	rows    []sketchRow // by address
	frames  []sketchFrame
	slots   []int32   // of frames
	code    []stretch // by address: from where some way leads to an exit
	made    bool      // it makes a frame
	summary           // as far as its returns tell
}

// sketchRow: frames[frame] holds from the entry plus at on. Behind a call that is
// from its second byte on: at its first one it is about to execute, at the others
// it waits for the return (as unwind.Query has it).
type sketchRow struct{ at, frame uint32 }

// sketchFrame is what a rule says of a frame.
type sketchFrame struct {
	kept, saved cpu.RegSet
	sp          int32  // SP from that on entry
	slot        uint32 // slots[slot:] are those of saved
}

// stretch is code from start up to end, relative to the entry.
type stretch struct{ start, end uint32 }

// frame is what holds before an instruction, in terms of SP on entry. Each preserved
// register and LR is in one of three places: where it was (kept), in a slot (saved),
// or nobody knows.
type frame struct {
	kept, saved cpu.RegSet
	derived     cpu.RegSet // hold SP on entry + off; SP is one of them
	off, slot   [cpu.MaxRegs]int32
}

// covers finds the frame before or within the instruction at pc, nil if none is proven.
func (s *sketch) covers(pc uint64) *sketchFrame {
	if i := s.behind(pc); i < len(s.code) && pc >= s.entry+uint64(s.code[i].start) {
		return &s.frames[s.rows[s.row(uint32(pc-s.entry))].frame]
	}
	return nil
}

// row is the index of the row at a place.
func (s *sketch) row(at uint32) int {
	i, exact := slices.BinarySearchFunc(s.rows, at, func(r sketchRow, at uint32) int { return cmp.Compare(r.at, at) })
	if !exact {
		i--
	}
	return i
}

// end is where the last of the code ends.
func (s *sketch) end() uint64 {
	if len(s.code) == 0 {
		return s.entry
	}
	return s.entry + uint64(s.code[len(s.code)-1].end)
}

// behind is the index of the first stretch that ends behind pc.
func (s *sketch) behind(pc uint64) int {
	if pc < s.entry {
		return 0
	}
	at := min(pc-s.entry, uint64(nowhere))
	i, _ := slices.BinarySearchFunc(s.code, at, func(c stretch, at uint64) int { return cmp.Compare(uint64(c.end), at+1) })
	return i
}

// sketchFlags are those of sketches' rules.
const sketchFlags = unwind.FromEntry | unwind.Agreed

// rule writes the rule of a frame; false where something is lost.
func (s *sketch) rule(f *sketchFrame, arch *cpu.Arch, out *unwind.Rule) bool {
	out.Reset()
	out.Flags = sketchFlags
	if f.sp > 0 {
		return false
	}
	out.CFA = unwind.RegRule{Kind: unwind.RegPlus, Reg: cpu.NoReg, Base: arch.SP, Off: arch.EntryCFA - int64(f.sp)}
	inCFA := func(r cpu.Reg, off int64) unwind.RegRule {
		return unwind.RegRule{Kind: unwind.AtCFA, Reg: r, Base: cpu.NoReg, Off: off - arch.EntryCFA}
	}
	switch {
	case arch.LR == cpu.NoReg:
		out.RA = inCFA(cpu.NoReg, 0)
	case f.saved.Has(arch.LR):
		out.RA = inCFA(cpu.NoReg, s.home(f, arch.LR))
	case f.kept.Has(arch.LR):
		out.RA = unwind.RegRule{Kind: unwind.RegPlus, Reg: cpu.NoReg, Base: arch.LR}
	default:
		return false
	}
	for set := arch.Preserved &^ f.kept; set != 0; set &= set - 1 {
		r := set.First()
		if !f.saved.Has(r) {
			return false
		}
		out.Add(inCFA(r, s.home(f, r)))
	}
	return true
}

// home is the slot of a register that a frame has saved.
func (s *sketch) home(f *sketchFrame, r cpu.Reg) int64 {
	return int64(s.slots[int(f.slot)+(f.saved&(1<<r-1)).Len()])
}

// proven writes the rule at a place by the sketch of the nearest function that has
// one: of those that are known, then of those that data points to.
func (an *analysis) proven(pc uint64, mode cpu.Mode, out *unwind.Rule) bool {
	for _, e := range an.below(an.strongEntries(), pc, mode, near) {
		if s, f := an.frameIn(e, mode, pc); f != nil {
			return s.rule(f, an.arch, out)
		}
	}
	for _, e := range an.pointed(pc, mode) {
		if s, f := an.frameIn(e, mode, pc); f != nil && an.begins(e, mode) {
			return s.rule(f, an.arch, out)
		}
	}
	return false
}

// begins tells whether a sketch from a place that a word of data names is one of a
// function. Where instructions have any length, the word can be no pointer at all and
// the code from there another one; a return without a frame proves nothing then.
func (an *analysis) begins(entry uint64, mode cpu.Mode) bool {
	return an.arch.InsnAlign > 1 || entry%16 == 0 || an.sketch(entry, mode).made
}

// pointed are the nearest places below pc that data points to, none where tables list
// all functions.
func (an *analysis) pointed(pc uint64, mode cpu.Mode) []uint64 {
	if an.strongEntries(); an.listed {
		return nil
	}
	return an.below(an.dataPointers(), pc, mode, nearData)
}

// nearData is how many pointers below a place are tried: some are to labels.
const nearData = 8

func (an *analysis) frameIn(entry uint64, mode cpu.Mode, pc uint64) (*sketch, *sketchFrame) {
	s := an.sketch(entry, mode)
	if s == nil {
		return nil, nil
	}
	return s, s.covers(pc)
}

// sketched answers from a sketch.
func (an *analysis) sketched(q *unwind.Query, out *unwind.Rule) bool {
	if !q.HasEntry {
		return an.proven(q.PC, q.Mode, out)
	}
	s, f := an.frameIn(q.Entry, q.Mode, q.PC)
	return f != nil && s.rule(f, an.arch, out)
}

// nested bounds sketches that are drawn while another one is.
const nested = 8

// sketch returns the sketch of the function at entry, nil if there is none, or while it
// is drawn.
func (an *analysis) sketch(entry uint64, mode cpu.Mode) *sketch {
	k := key(entry, mode)
	if s, ok := an.sketches[k]; ok {
		return s
	}
	if len(an.sketches) >= 4*generation {
		clear(an.sketches)
	}
	an.sketches[k] = nil
	p := &an.pencils[an.drawing]
	if *p == nil {
		*p = newPencil(an)
	}
	an.drawing++
	s := (*p).draw(entry, mode)
	an.drawing--
	an.sketches[k] = s
	return s
}
