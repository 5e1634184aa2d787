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
	frames  []frame
	nodes   []node // by address
	made    bool   // it makes a frame
	summary        // as far as its returns tell
}

// sketchRow: frames[frame] holds from the entry plus at on. Behind a call that is
// from its second byte on: at its first one it is about to execute, at the others
// it waits for the return (as unwind.Query has it).
type sketchRow struct{ at, frame uint32 }

// node is a run of instructions without a way in or out but at its ends.
type node struct {
	start, end  uint32 // relative to the entry
	next, taken uint32 // where it goes on, nowhere if none
	flags       nodeFlags
}

const nowhere = ^uint32(0)

type nodeFlags uint8

const (
	nodeExit   nodeFlags = 1 << iota // leaves for the caller
	nodeOpen                         // a jump within the function to places that are not known
	nodeGap                          // taken for one of these places
	nodeLeaves                       // some way from it leads to an exit
	nodeReturn                       // an exit by a return
)

// frame is what holds before an instruction, in terms of SP on entry. Each preserved
// register and LR is in one of three places: where it was (kept), in a slot (saved),
// or nobody knows.
type frame struct {
	kept, saved cpu.RegSet
	derived     cpu.RegSet // hold SP on entry + off; SP is one of them
	off, slot   [cpu.MaxRegs]int32
}

// covers finds the frame before or within the instruction at pc. ok: there is one,
// and it is proven; has: the function has code there.
func (s *sketch) covers(pc uint64) (f *frame, has, ok bool) {
	n := s.node(pc)
	if n == nil {
		return nil, false, false
	}
	if n.flags&nodeLeaves == 0 {
		return nil, true, false
	}
	return &s.frames[s.rows[s.row(uint32(pc-s.entry))].frame], true, true
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
func (s *sketch) end() uint64 { return s.entry + uint64(s.nodes[len(s.nodes)-1].end) }

// node is the one that pc lies in, nil if none.
func (s *sketch) node(pc uint64) *node {
	if i := s.behind(pc); i < len(s.nodes) && pc >= s.entry+uint64(s.nodes[i].start) {
		return &s.nodes[i]
	}
	return nil
}

// behind is the index of the first node that ends behind pc.
func (s *sketch) behind(pc uint64) int {
	if pc < s.entry {
		return 0
	}
	at := min(pc-s.entry, uint64(nowhere))
	i, _ := slices.BinarySearchFunc(s.nodes, at, func(n node, at uint64) int { return cmp.Compare(uint64(n.end), at+1) })
	return i
}

// sketchFlags are those of sketches' rules.
const sketchFlags = unwind.EntryKnown | unwind.Agreed

// rule writes the rule of a frame; false where something is lost.
func (f *frame) rule(arch *cpu.Arch, out *unwind.Rule) bool {
	out.Reset()
	out.Flags = sketchFlags
	size := arch.EntryCFA - int64(f.off[arch.SP])
	if size < arch.EntryCFA {
		return false
	}
	out.CFA = unwind.RegRule{Kind: unwind.RegPlus, Reg: cpu.NoReg, Base: arch.SP, Off: size}
	inCFA := func(r cpu.Reg, off int64) unwind.RegRule {
		return unwind.RegRule{Kind: unwind.AtCFA, Reg: r, Base: cpu.NoReg, Off: off - arch.EntryCFA}
	}
	switch {
	case arch.LR == cpu.NoReg:
		out.RA = inCFA(cpu.NoReg, 0)
	case f.saved.Has(arch.LR):
		out.RA = inCFA(cpu.NoReg, int64(f.slot[arch.LR]))
	case f.kept.Has(arch.LR):
		out.RA = unwind.RegRule{Kind: unwind.RegPlus, Reg: cpu.NoReg, Base: arch.LR}
	default:
		return false
	}
	for s := arch.Preserved &^ f.kept; s != 0; s = s.Without(s.First()) {
		r := s.First()
		if !f.saved.Has(r) {
			return false
		}
		out.Add(inCFA(r, int64(f.slot[r])))
	}
	return true
}

// proven finds the frame at a place by the sketch of the nearest function that has
// one: of those that are known, then of those that data points to.
func (an *analysis) proven(pc uint64, mode cpu.Mode) *frame {
	for _, e := range an.below(an.strongEntries(), pc, mode, near) {
		if f := an.frameIn(e, mode, pc); f != nil {
			return f
		}
	}
	for _, e := range an.pointed(pc, mode) {
		if f := an.frameIn(e, mode, pc); f != nil && an.begins(e, mode) {
			return f
		}
	}
	return nil
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

func (an *analysis) frameIn(entry uint64, mode cpu.Mode, pc uint64) *frame {
	if s := an.sketch(entry, mode); s != nil {
		if f, _, ok := s.covers(pc); ok {
			return f
		}
	}
	return nil
}

// sketched answers from a sketch.
func (an *analysis) sketched(q *unwind.Query, out *unwind.Rule) bool {
	var f *frame
	if q.HasEntry {
		f = an.frameIn(q.Entry, q.Mode, q.PC)
	} else {
		f = an.proven(q.PC, q.Mode)
	}
	return f != nil && f.rule(an.arch, out)
}

// sketch returns the sketch of the function at entry, nil if there is none.
func (an *analysis) sketch(entry uint64, mode cpu.Mode) *sketch {
	k := jump{entry, mode}
	if s, ok := an.sketches[k]; ok {
		return s
	}
	if an.pencil == nil {
		an.pencil = newPencil(an)
	}
	var kept *sketch
	if s := an.pencil.draw(entry, mode); s != nil {
		kept = &sketch{entry, slices.Clone(s.rows), slices.Clone(s.frames), slices.Clone(s.nodes), s.made, s.summary}
	}
	if len(an.sketches) >= 4*generation {
		clear(an.sketches)
	}
	an.sketches[k] = kept
	return kept
}
