package dataflow

import (
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// graph is the control flow graph of a function that is being explored, with the blocks
// whose state changed since they were visited.
type graph struct {
	disasm.Code
	entry  uint64
	blocks blocks
	queue  []*block
	// noReturn are the sites of calls that never return, as found out so far. again: one
	// was found too late, and the function is explored anew.
	noReturn map[uint64]bool
	again    bool
	// handed is how the entry finds the return address, as found out so far.
	handed handed
	// spDiffers: two paths came to one place with SP at different places.
	spDiffers bool
	// leadsOut: an edge leads where the image has no code.
	leadsOut bool
	doubt    edge // how control came to the block being visited, where that is a guess
}

// reset forgets the blocks and what follows from those of one pass.
func (g *graph) reset() {
	g.blocks, g.queue, g.again, g.leadsOut = nil, nil, false, false
}

// take removes the most believable block from the queue, so that what a doubtful path says
// meets an established state and not the reverse.
func (g *graph) take() *block {
	best := 0
	for i := range g.queue {
		if g.queue[i].via < g.queue[best].via {
			best = i
		}
	}
	b := g.queue[best]
	g.queue[best] = g.queue[len(g.queue)-1]
	g.queue = g.queue[:len(g.queue)-1]
	b.queued = false
	return b
}

func (g *graph) enqueue(b *block) {
	if !b.queued {
		b.queued = true
		g.queue = append(g.queue, b)
	}
}

// propagate brings a state to a place. What a guess leads to is a guess, however control
// goes on from there. site is that of the call where the edge falls through one.
func (g *graph) propagate(to disasm.Addr, st *absint.State, how edge, site uint64) {
	how = max(how, g.doubt)
	b, i := g.blocks.at(to.PC)
	if b != nil && b.start == to.PC {
		g.join(b, st, how, site)
		return
	}
	if !g.Has(to.PC) {
		g.leadsOut = true
		return
	}
	n := &block{start: to.PC, end: to.PC, mode: to.Mode, via: how}
	if how == edgeCall {
		n.afterCall = site
	}
	n.in.CopyFrom(st)
	if b != nil { // splits b, which now falls into n
		n.end, b.end = b.end, to.PC
		g.enqueue(b)
		i++
	}
	g.blocks.insert(i, n)
	g.enqueue(n)
}

// join joins a state into a block that was reached before. Compilers keep SP the same on
// all paths to a place; where two paths differ, one of them does not exist: the one that
// falls through a call that never returns, or that a guessed table or gap led to.
func (g *graph) join(b *block, st *absint.State, how edge, site uint64) {
	sp, own := st.Regs[g.Arch.SP], b.in.Regs[g.Arch.SP]
	g.spDiffers = g.spDiffers || sp != own && b.start != g.entry
	if sp != own && (b.start == g.entry || how > edgeCall) {
		return // nothing but the function's own calls comes to its entry with a frame
	}
	if sp.Kind == absint.StartRelative && own.Kind == sp.Kind && own.Base == sp.Base && own.Off != sp.Off {
		switch {
		case how == edgeCall:
			g.noReturn[site] = true
			return
		case b.afterCall != 0:
			g.restart(b.afterCall)
			return
		case b.via > edgeCall:
			b.in.CopyFrom(st)
			b.via = how
			g.enqueue(b)
			return
		}
	}
	if how == edgeCall && b.afterCall == 0 {
		b.afterCall = site
	}
	b.via = min(b.via, how)
	if b.in.Join(st) {
		g.enqueue(b)
	}
}

// restart marks a call as one that never returns and asks for another pass.
func (g *graph) restart(site uint64) { g.noReturn[site], g.again = true, true }

// meetsData marks calls behind which data stands as ones that never return.
func (g *graph) meetsData(data map[uint64]uint64) {
	for at := range data {
		if b, _ := g.blocks.at(at); b != nil && b.via == edgeCall && !g.noReturn[b.afterCall] {
			g.restart(b.afterCall)
		}
	}
}

// overran looks for the call at which the function ended, when a path returns from a block
// with a frame that is still there: a call that never returns, and nothing said so (a
// libc's message function that aborts if its first argument says so). What stands behind
// the call is another function, which returns with SP where it began with it.
func (g *graph) overran(from *block, sp absint.Value) {
	if !sp.RelativeTo(g.Arch.SP) || sp.Off >= 0 {
		return
	}
	_, i := g.blocks.at(from.start)
	for ; i >= 0; i-- {
		if b := g.blocks[i]; b.via == edgeCall && b.in.Regs[g.Arch.SP] == sp {
			g.restart(b.afterCall)
			return
		}
	}
}

// forgetLR leaves a saved return address in its slot only, at labels of several computed
// gotos. A goto that is understood (MIPS16's save 48,ra; …; jr v0, before any call) leads
// to the labels that the gotos behind calls lead to.
func (g *graph) forgetLR(labels []uint64) (changed bool) {
	lr := g.Arch.LR
	if g.Arch.CallPushesRA {
		return false
	}
	for _, l := range labels {
		b, _ := g.blocks.at(l)
		if b == nil || b.start != l || !b.in.Regs[lr].IsStartOf(lr) || !b.in.Holds(absint.StartOf(lr)) {
			continue
		}
		b.in.Set(lr, absint.Value{}, g.Arch)
		g.enqueue(b)
		changed = true
	}
	return changed
}
