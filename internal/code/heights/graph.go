package heights

import "github.com/backsight/backsight/internal/code/disasm"

// graph is the control flow of one function: its basic blocks in order of visit. A call
// ends none.
type graph struct {
	blocks  []block
	exiting disasm.Offsets // the bytes of blocks that lead to an exit
	covered disasm.Offsets // the bytes of all blocks, once cover was called
}

// block is a run of instructions that control enters at its start and leaves at its end.
// Offsets are relative to the entry.
type block struct {
	start, end  uint32
	next, taken uint32 // where control goes on and where its jump goes, disasm.None if nowhere
	flags       blockFlags
}

type blockFlags uint8

const (
	leaves   blockFlags = 1 << iota // returns, or ends with a tail call
	jumpsOn                         // ends with a jump within the function to places that are not known
	isTarget                        // was taken for one of these places
	exits                           // some path from the block leads to an exit
)

func (g *graph) reset() { g.blocks = g.blocks[:0] }

// add ends a block and begins the next one; a block without bytes is none.
func (g *graph) add(b *block, end uint32) {
	b.end = end
	if b.end > b.start {
		g.blocks = append(g.blocks, *b)
		if b.flags&isTarget != 0 {
			g.covered.AddRange(b.start, b.end)
		}
	}
	b.start, b.next, b.taken = end, disasm.None, disasm.None
}

// cover fills covered.
func (g *graph) cover() {
	g.covered.Reset()
	for i := range g.blocks {
		g.covered.AddRange(g.blocks[i].start, g.blocks[i].end)
	}
}

// findExits finds out which blocks lead to an exit. A jump to unknown places leads to an exit if
// any block that was taken for a target of such jumps does.
func (g *graph) findExits() {
	g.exiting.Reset()
	g.spread()
	found := false
	for i := range g.blocks {
		found = found || g.blocks[i].flags&(isTarget|exits) == isTarget|exits
	}
	if !found {
		return
	}
	for i := range g.blocks {
		if b := &g.blocks[i]; b.flags&jumpsOn != 0 {
			b.flags |= leaves
		}
	}
	g.spread()
}

// spread carries exits against the direction of control. Blocks are visited by address
// and most jumps go forward, so that one round suffices where all blocks lead to an exit, and two for most functions.
func (g *graph) spread() {
	for again := true; again; {
		left := false
		again = false
		for i := len(g.blocks) - 1; i >= 0; i-- {
			b := &g.blocks[i]
			if b.flags&exits != 0 {
				continue
			}
			if b.flags&leaves == 0 && !g.exiting.Has(b.next) && !g.exiting.Has(b.taken) {
				left = true
				continue
			}
			b.flags |= exits
			g.exiting.AddRange(b.start, b.end)
			again = true
		}
		again = again && left
	}
}

// ranges are the bytes of the blocks that lead to an exit.
func (g *graph) ranges(out []Range) []Range {
	for at := g.exiting.Next(0); at != disasm.None; {
		end := g.exiting.Without(at)
		out = append(out, Range{at, end})
		at = g.exiting.Next(end)
	}
	return out
}
