package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Budgets make the analysis of one function linear and safe on hostile code.
const (
	maxBlocks   = 4096
	maxSteps    = 60000 // instructions executed, repeated visits counted
	maxRestarts = 6
)

// seed is a state to go on from: that at a jump whose targets are not known.
type seed struct {
	mode cpu.Mode
	st   absint.State
}

// landingPads are ways into a function that only the runtime takes, with the stack as it
// is between the function's calls.
type landingPads struct {
	at []disasm.Addr
	st absint.State
}

// explorer analyses one function: it executes blocks until no state at the beginning of
// one changes any more.
type explorer struct {
	*Function
	graph  graph
	gaps   gapSearch
	m      *absint.Interp
	steps  int
	block  *block       // being visited
	behind absint.State // that of BehindCalls
	// Scratch: the state at hand, the state where a run of conditional instructions is
	// executed, the instructions.
	st, taken absint.State
	cursor    disasm.Cursor
}

// analyze follows the code from entry; pads are other ways in, nil if there are none.
func (an *Analysis) analyze(entry disasm.Addr, pads *landingPads) *Function {
	m := absint.New(an.Code)
	f := &Function{Entry: entry, an: an, data: map[uint64]uint64{}, further: pads != nil}
	e := &explorer{Function: f, m: &m, cursor: disasm.NewCursor(an.Code)}
	e.graph = graph{Code: an.Code, entry: entry.PC, noReturn: map[uint64]bool{}}
	for range maxRestarts {
		e.run(pads)
		f.steps += e.steps
		if !e.graph.again {
			break
		}
	}
	f.blocks, f.interp = e.graph.blocks, m.Frozen()
	f.Complete = f.Complete && !e.graph.leadsOut
	f.SPDiffers = e.graph.spDiffers
	return f
}

// run does one pass to the fixpoint. A contradiction about SP marks a call as one that
// never returns and asks for another pass.
func (e *explorer) run(pads *landingPads) {
	e.Facts, e.Tails, e.targets, e.BehindCalls = Facts{Complete: true}, nil, map[uint64]disasm.Addr{}, ""
	e.steps, e.gaps, e.outwards = 0, gapSearch{}, nil
	e.graph.reset()
	var st absint.State
	e.graph.handed.start(&st, e.an.Arch)
	for s := e.an.Arch.SelfRegs; s != 0; s = s.Without(s.First()) {
		st.Set(s.First(), absint.Const(absint.Signed(e.Entry.Key(), e.an.Arch)), e.an.Arch)
	}
	e.graph.propagate(e.Entry, &st, edgeEntry, 0)
	e.drain()
	e.graph.meetsData(e.data)
	for i := 0; pads != nil && i < len(pads.at) && !e.graph.again; i++ {
		e.graph.propagate(pads.at[i], &pads.st, edgeGap, 0)
		e.drain()
	}
	for !e.graph.again && e.fillGaps() {
		e.drain()
	}
}

// drain visits the blocks in the queue.
func (e *explorer) drain() {
	g := &e.graph
	for !g.again {
		b := g.queue.take()
		if b == nil {
			return
		}
		if g.doubt = b.via; g.doubt < edgeUnsizedTable {
			g.doubt = edgeEntry
		}
		e.visit(b)
		g.doubt = edgeEntry
		if e.steps > maxSteps || len(g.blocks) > maxBlocks {
			e.Complete, e.BrokenOff = false, true
			return
		}
	}
}
