package dataflow

import (
	"slices"

	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// gapSearch looks for the targets of jumps that were not resolved: in the gaps between
// the blocks that are known.
type gapSearch struct {
	seed   *seed    // the state at the first of the jumps within the function, nil if none
	jumps  int      // how many jumps there are, those with a table of unknown size too
	labels []uint64 // where they may lead to
	tried  int
	from   uint64 // where to look for the next gap
}

// unresolved notes a jump to an unknown place of the function. Code in front of the entry
// is another function, which this one ends with a jump to: its labels are not here.
func (e *explorer) unresolved(st *absint.State) {
	e.Complete = false
	if e.block.start < e.Entry.PC {
		return
	}
	e.gaps.jumps++
	if e.gaps.seed == nil {
		e.gaps.seed = &seed{mode: e.block.mode}
		e.gaps.seed.st.CopyFrom(st)
	}
}

// maxGaps bounds the places that one function tries for an unresolved jump.
const maxGaps = 64

// fillGaps continues at a place behind an unconditional transfer that no path reached, as
// long as some jump within the function is unresolved: the targets of a computed goto are
// nowhere else. It goes upwards, one place a call.
func (e *explorer) fillGaps() bool {
	g := &e.gaps
	if g.seed == nil || g.tried >= maxGaps || e.steps > maxSteps {
		return false
	}
	if g.jumps > 1 && e.graph.forgetLR(g.labels) {
		return true
	}
	blocks := e.graph.blocks
	limit := e.an.Entries.Next(blocks[len(blocks)-1].start, e.Entry.PC)
	_, i := blocks.at(max(e.Entry.PC, g.from))
	for ; i < len(blocks); i++ {
		end, next := blocks[i].end, limit
		if i+1 < len(blocks) {
			next = blocks[i+1].start
		}
		if end >= next || end < g.from {
			continue
		}
		g.from = end
		at, ok := e.gapAt(i, next)
		if !ok {
			return false
		}
		if at != 0 {
			g.tried++
			g.labels = append(g.labels, at)
			e.graph.propagate(disasm.Addr{PC: at, Mode: g.seed.mode}, &g.seed.st, edgeGap, 0)
			return true
		}
	}
	return false
}

// beginsAt tells whether a function begins at a place that stack-height analysis does not
// follow: the code lowers SP before control goes anywhere, and some way out has the return
// address where a call has it, and every preserved register as it was at the place. Of a
// label, the ways out have the return address above the frame.
func (an *Analysis) beginsAt(at disasm.Addr) bool {
	if !an.makesRoom(at) {
		return false
	}
	return slices.ContainsFunc(an.ReturnPaths(at, false), func(r ReturnPath) bool {
		return r.CFA == an.conv.cfa && r.RA == an.conv.ra && len(r.Changed) == 0 && !r.Tail && !r.Exception
	})
}

// beginsCost is what beginsAt costs, in instructions that an analysis executes meanwhile.
const beginsCost = maxPathSteps / 8

// makesRoom tells whether the code from a place on lowers SP before control goes anywhere.
func (an *Analysis) makesRoom(at disasm.Addr) bool {
	cur := disasm.NewCursor(an.Code)
	return disasm.BeginsWith(&cur, at, disasm.LowersSP)
}

// gapAt is the first instruction in the gap between the block number i and next, 0 where
// the gap has none. ok: the function may go on there.
func (e *explorer) gapAt(i int, next uint64) (pc uint64, ok bool) {
	b, sp := e.graph.blocks[i], e.an.Arch.SP
	end := disasm.Addr{PC: b.end, Mode: b.mode}
	at := disasm.Addr{PC: e.SkipData(end), Mode: b.mode}
	last := i+1 == len(e.graph.blocks)
	if last && at.PC != e.an.SkipPadding(end) {
		return 0, false // the pool behind the last instruction
	}
	inside := at.PC < next && !e.an.Entries.IsEntry(at)
	if last && inside && e.an.Entries.OnlyCodeNames(at) {
		return 0, false // code loads the address of the next function
	}
	// libLLVM's switches of which no pointer is read stand in front of functions that
	// nobody calls by address.
	e.steps += beginsCost
	if !e.gaps.seed.st.Get(sp).IsStartOf(sp) && (e.an.Heights.ReturnsFrom(at) || e.an.beginsAt(at)) {
		return 0, false
	}
	if !inside {
		return 0, true
	}
	return at.PC, true
}
