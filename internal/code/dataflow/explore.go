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

// explorer analyses one function: blocks are executed until the state at the beginning of every
// block stays the same.
type explorer struct {
	*Function
	graph  graph
	gaps   gapSearch
	m      *absint.Interp
	steps  int
	block  *block       // being visited
	behind absint.State // that of BehindCalls
	// byWritable: a jump goes where a word of writable memory says.
	byWritable bool
	// Scratch: the state at hand, the state where a run of conditional instructions is
	// executed, the instructions.
	st, taken absint.State
	cursor    disasm.Cursor
}

// analyze follows the code from entry; or that of the function's landing pads, if there are some.
func (an *Analysis) analyze(entry disasm.Addr, pads *landingPads) *Function {
	m := absint.New(an.Code)
	f := &Function{Entry: entry, an: an, data: map[uint64]uint64{}}
	e := &explorer{Function: f, m: &m, cursor: disasm.NewCursor(an.Code)}
	e.graph = graph{Code: an.Code, conv: &an.conv, entry: entry.PC, noReturn: map[uint64]bool{}}
	if pads != nil {
		e.graph.known = pads.owner
	}
	for range maxRestarts {
		e.run(pads)
		f.steps += e.steps
		if !e.graph.again {
			break
		}
	}
	if pads != nil {
		f.steps += pads.steps
	}
	f.blocks, f.interp = e.graph.blocks, m.Frozen()
	f.Followed = f.Complete && !e.graph.leadsOut
	f.Complete = f.Followed && !e.byWritable
	f.SPDiffers = e.graph.spDiffers
	return f
}

// run does one pass to the fixpoint. Where two paths contradict each other about SP, a call is
// marked as never returning and another pass is asked for.
func (e *explorer) run(pads *landingPads) {
	e.Facts, e.byWritable, e.Tails, e.targets = Facts{Complete: true}, false, nil, callTargets{}
	e.BehindCalls, e.AtLastCalls = "", ""
	e.steps, e.gaps, e.exits = 0, gapSearch{}, exits{}
	e.graph.reset()
	if pads != nil {
		pads.explore(e)
	} else {
		var st absint.State
		e.graph.pltFrame.start(&st, &e.an.conv)
		for s := e.an.Arch.SelfRegs; s != 0; s = s.Without(s.First()) {
			st.Set(s.First(), absint.Const(absint.Signed(e.Entry.Key(), e.an.Arch)), e.an.Arch)
		}
		e.graph.propagate(e.Entry, &st, edgeEntry, 0)
		e.drain()
		e.graph.meetsData(e.data)
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
