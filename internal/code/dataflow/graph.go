package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// graph is the control flow graph of a function that is being explored, with the blocks
// whose state changed since they were visited.
type graph struct {
	disasm.Code
	conv   *convention
	entry  uint64
	blocks blocks
	queue  queue
	states states
	// noReturn are the sites of calls that never return, as found out so far. again: one
	// was found too late, and the function is explored anew.
	noReturn   map[uint64]bool
	again      bool
	jumpTables jumpTables
	// pltFrame is how the entry finds the return address, as found out so far.
	pltFrame pltFrame
	// spDiffers: two paths came to one place with SP at different places.
	spDiffers bool
	// leadsOut: an edge leads where the image has no code.
	leadsOut bool
	// known is a function whose own code is not explored again, nil: none.
	known *Function
	doubt edge // how control came to the block being visited, where that is a guess
	// leaving, where set, is told where control goes, instead of the blocks there: see CallPaths.
	leaving func(to uint64, st *absint.State, how edge)
}

// reset forgets the blocks and what follows from those of one pass.
func (g *graph) reset() {
	g.blocks, g.again, g.leadsOut = nil, false, false
	g.queue.reset()
	clear(g.jumpTables.ends)
}

// propagate brings a state to a place. What a guess leads to is a guess, however control
// goes on from there. site is that of the call where the edge falls through one.
func (g *graph) propagate(to disasm.Addr, st *absint.State, how edge, site uint64) {
	how = max(how, g.doubt)
	if g.leaving != nil {
		g.leaving(to.PC, st, how)
		return
	}
	b, i := g.blocks.at(to.PC)
	if b != nil && b.start == to.PC {
		g.join(b, st, how, site)
		return
	}
	if b == nil && g.known != nil && g.known.Contains(to.PC) {
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
	if b != nil { // splits b, which now falls into n
		n.end, b.end = b.end, to.PC
		g.queue.add(b)
		i++
	}
	g.blocks.insert(i, n)
	g.set(n, st)
}

// fallInto brings a state from the end of a block to the one that follows. Where filler alone stands
// behind a call, what follows is what stands behind the call: in malloc of i386's libc, an
// assertion's call with 16 bytes of arguments still pushed, which never returns, and where a branch
// leads.
//
//	99b35  call 7ca90
//	99b3a  lea  0(%esi),%esi
//	99b40  call 96260          ◄─ 9998d: je 99b40, with SP 16 bytes higher
func (g *graph) fallInto(next disasm.Addr, st *absint.State, b *block, filler bool) {
	if filler {
		g.propagate(next, st, edgeCall, b.afterCall)
		return
	}
	g.propagate(next, st, edgeJump, 0)
}

// set makes st the state of a block, which is visited again.
func (g *graph) set(b *block, st *absint.State) {
	b.in, b.sp = g.states.keep(st), st.Regs[g.Arch.SP]
	g.queue.add(b)
}

// join joins a state into a block that was reached before. Compilers keep SP the same on
// all paths to a place. Where two paths differ in SP, a path does not exist: it falls through
// a call that never returns, or follows a table or a gap that was guessed.
func (g *graph) join(b *block, st *absint.State, how edge, site uint64) {
	sp, own := st.Regs[g.Arch.SP], b.sp
	g.spDiffers = g.spDiffers || sp != own && b.start != g.entry
	if sp != own && (b.start == g.entry || how > edgeTable || how == edgeTable && b.via <= edgeTable) {
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
			g.queue.comes(b, how)
			g.set(b, st)
			return
		}
	}
	if how == edgeCall && b.afterCall == 0 {
		b.afterCall = site
	}
	g.queue.comes(b, min(b.via, how))
	if g.states.join(b, st) {
		b.sp = own.Join(sp)
		g.queue.add(b)
	}
}

// restart marks the call at site as never returning and asks for another pass.
func (g *graph) restart(site uint64) { g.noReturn[site], g.again = true, true }

// meetsData marks calls behind which data stands as never returning.
func (g *graph) meetsData(data map[uint64]uint64) {
	for at := range data {
		if b, _ := g.blocks.at(at); b != nil && b.via == edgeCall && !g.noReturn[b.afterCall] {
			g.restart(b.afterCall)
		}
	}
}

// overran looks for the call that ends the function, when a path returns from a block with the
// frame still there. Such a path has fallen behind a call that never returns, which nothing told
// (a libc's message function that aborts if its first argument asks for that), into another
// function. That function's SP at its return is the SP at its beginning, behind the call.
func (g *graph) overran(from *block, sp absint.Value) {
	if !sp.RelativeTo(g.Arch.SP) || sp.Off >= 0 {
		return
	}
	_, i := g.blocks.at(from.start)
	for ; i >= 0; i-- {
		if b := g.blocks[i]; b.via == edgeCall && b.sp == sp && !g.onlyReadsPC(b.afterCall) {
			g.restart(b.afterCall)
			return
		}
	}
}

// onlyReadsPC tells whether the call at a site reads the PC: that always returns. Example: run_argv of git on
// i386 begins with four pushes and such a call. A call that never returns seems to lead, with words still
// pushed, to the epilogue, which leaves SP where the first call was.
func (g *graph) onlyReadsPC(site uint64) bool {
	var in cpu.Insn
	return g.Arch.PCThunk && g.One(disasm.Addr{PC: site}, &in) && disasm.CallReadsPC(g.Code, &in)
}

// forgetLR leaves a saved return address in its slot only, at labels of several computed
// gotos. A goto that is understood (MIPS16's save 48,ra; …; jr v0, before any call) leads
// to the labels that the gotos behind calls lead to.
func (g *graph) forgetLR(labels []uint64) (changed bool) {
	lr := g.conv.link
	if lr == cpu.NoReg {
		return false
	}
	var st absint.State
	for _, l := range labels {
		b, _ := g.blocks.at(l)
		if b == nil || b.start != l {
			continue
		}
		b.in.Decode(&st)
		if !st.Regs[lr].IsStartOf(lr) || !st.Holds(absint.StartOf(lr)) {
			continue
		}
		st.Set(lr, absint.Value{}, g.Arch)
		g.set(b, &st)
		changed = true
	}
	return changed
}
