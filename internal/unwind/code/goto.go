package code

import "github.com/backsight/backsight/cpu"

// openJump is a jump within the function whose targets are not known.
type openJump struct {
	mode cpu.Mode
	st   state
}

// unresolved notes one. Code in front of the entry is another function, which this
// one ends with a jump to: its labels are not here.
func (f *function) unresolved(b *block, st *state) {
	f.complete = false
	if b.start < f.entry {
		return
	}
	f.gotos++
	o := &openJump{mode: b.mode}
	o.st.copyFrom(st)
	f.open = append(f.open, o)
}

// relabel leaves a saved return address in its slot only at the labels of several
// computed gotos. One that is understood (MIPS16's save 48,ra; …; jr v0, before any
// call) leads to the labels that those behind calls lead to.
func (f *function) relabel() (changed bool) {
	if f.arch.LR == cpu.NoReg {
		return false
	}
	for _, l := range f.labels {
		b, _ := f.at(l)
		if b == nil || b.start != l || !b.in.regs[f.arch.LR].isStart(f.arch.LR) || !b.in.holds(f.link()) {
			continue
		}
		b.in.set(f.arch.LR, value{}, f.arch)
		f.enqueue(b)
		changed = true
	}
	return changed
}

// returnsFrom tells whether code at a place returns to its caller with everything as
// it was there, on all ways: in a function that has a frame it is the next function.
// libLLVM's switches of which no pointer is read stand in front of functions that
// nobody calls by address. A jump elsewhere that needs no frame undone is no return.
func (an *analysis) returnsFrom(addr uint64, mode cpu.Mode) bool {
	s := an.sketch(addr, mode)
	return s != nil && len(s.code) > 0 && s.code[0].start == 0 && (s.made || s.returns)
}

// maxGaps bounds the places that one function tries for an unresolved jump.
const maxGaps = 64

// fillGaps continues at a place behind an unconditional transfer that no path
// reached, as long as some jump within the function is unresolved: the targets of
// a computed goto are nowhere else. It goes upwards, one place a call.
func (f *function) fillGaps() bool {
	if len(f.open) == 0 || f.gaps >= maxGaps || !f.complete && f.steps > maxSteps {
		return false
	}
	if f.gotos > 1 && f.relabel() {
		return true
	}
	o := f.open[0]
	limit := f.an.nextEntry(f.blocks[len(f.blocks)-1].start, f.entry)
	_, i := f.at(max(f.entry, f.gapAt))
	for ; i < len(f.blocks); i++ {
		end, next := f.blocks[i].end, limit
		if i+1 < len(f.blocks) {
			next = f.blocks[i+1].start
		}
		if end >= next || end < f.gapAt {
			continue
		}
		f.gapAt = end
		g := f.skipData(end, f.blocks[i].mode)
		if i+1 == len(f.blocks) && g != f.an.skipPadding(end, f.blocks[i].mode) {
			return false // the pool behind the last instruction
		}
		inside := g < next && !f.an.isEntry(g, f.blocks[i].mode)
		if i+1 == len(f.blocks) && inside && f.an.loaded(g, f.blocks[i].mode) {
			return false // code loads the address of the next function
		}
		if !o.st.get(f.arch.SP).isStart(f.arch.SP) && f.an.returnsFrom(g, f.blocks[i].mode) {
			return false
		}
		if inside {
			f.gaps++
			f.labels = append(f.labels, g)
			f.flow(jump{g, o.mode}, &o.st, edgeGap, 0)
			return true
		}
	}
	return false
}
