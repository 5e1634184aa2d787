package heights

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/disasm"
)

const (
	maxInsns    = 1 << 16 // instructions of one function
	maxAttempts = 6       // passes through one function
)

// pass goes through functions, one after another, in memory that is used again.
type pass struct {
	tables *Tables
	interp interp
	extent extent
	cursor disasm.Cursor
	record record
	todo   worklist
	graph  graph
	seen   disasm.Offsets // of the instructions that were visited
	data   disasm.Offsets // of literals among the code, which instructions load
	stop   uint32         // no instruction in front of this offset needs a look
	insns  int
	effect callee.Effect // as the last return tells
	before state         // the one in front of a conditional call
	gotos  []uint32      // states at jumps to unknown places in the function
	inGaps bool          // visiting places that were taken for their targets
}

func newPass(t *Tables) *pass {
	return &pass{tables: t, interp: newInterp(t.code), extent: extent{entries: t.entries},
		cursor: disasm.NewCursor(t.code), record: record{sp: t.code.Arch.SP}}
}

// analyze makes the table of the function at an entry, nil if there is none. An attempt that fails tells the
// next one
//
//   - which registers point to different heights of the frame on different paths;
//   - or that other registers than the ABI's frame pointer point into the frame (s8 of MIPS, whose ABI has
//     none);
//   - or that the function ends where another one begins.
func (p *pass) analyze(entry disasm.Addr) *Table {
	if p.tables.entries.StartsImage(entry) {
		return nil
	}
	p.extent.reset(entry)
	p.data.Reset()
	arch := p.interp.arch
	p.interp.pointers, p.record.unstable = cpu.SetOf(arch.SP, arch.FP), 0
	for range maxAttempts {
		unstable := p.record.unstable
		if p.attempt() {
			return p.table()
		}
		switch {
		case p.record.unstable != unstable:
		case p.interp.refused:
			p.interp.pointers = arch.Preserved.With(arch.SP)
		case p.extent.cut || p.extent.entry+p.seen.Span() <= p.extent.first:
			return nil
		default:
			p.extent.cut = true
		}
	}
	return nil
}

// attempt goes through the function once; false where some paths do not agree.
func (p *pass) attempt() bool {
	p.interp.refused, p.insns, p.inGaps, p.effect = false, 0, false, callee.Effect{PC: cpu.NoReg}
	p.todo, p.gotos = append(p.todo[:0], waypoint{}), p.gotos[:0]
	p.graph.reset()
	p.seen.Reset()
	p.record.cur.enter(p.interp.arch.SP, p.interp.tracked)
	p.record.reset()
	return p.visit() && p.fillGaps()
}

// visit goes on from all places in the list.
func (p *pass) visit() bool {
	for len(p.todo) > 0 {
		next := p.todo.pop()
		p.record.resume(next.state)
		if !p.follow(next.at) {
			return false
		}
	}
	return true
}

// table is the table of the function that was gone through.
func (p *pass) table() *Table {
	p.graph.findExits()
	t := &Table{Entry: p.extent.entry, Effect: p.effect}
	p.record.write(t)
	var room [16]Range
	t.Code = slices.Clone(p.graph.ranges(room[:0]))
	return t
}
