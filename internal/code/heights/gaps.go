package heights

import "github.com/backsight/backsight/internal/code/disasm"

// maxGaps bounds the places of one function that are tried as targets of its jumps whose
// targets are not known: switches of interpreters have some hundred cases.
const maxGaps = 512

// fillGaps takes what lies between the visited blocks for the targets of the jumps that
// could not be followed: jmp *(%rax,%rdx,8) of a switch. That a frame fits where such
// code begins and where it ends is no coincidence; where one does not fit, the function
// has no table. Without a frame everything would fit, as at the labels of an interpreter's
// computed gotos: nothing is taken for a target then.
func (p *pass) fillGaps() bool {
	framed := false
	for _, i := range p.gotos {
		s := &p.record.states[i]
		if !s.equal(&p.record.states[p.gotos[0]]) {
			return false
		}
		framed = s.height[p.interp.arch.SP] != 0
	}
	return !framed || p.visitGaps()
}

// visitGaps visits what no path has reached, up to the next function or the next place
// that data points to.
func (p *pass) visitGaps() bool {
	x := &p.extent
	limit := min(x.first, p.tables.entries.NextPointer(x.entry))
	p.inGaps = true
	p.graph.cover()
	at := uint32(0)
	for range maxGaps {
		at = p.graph.covered.Without(at)
		pc := p.cursor.SkipPadding(x.at(at))
		if pc >= limit {
			return true
		}
		if at = uint32(pc - x.entry); p.seen.Has(at) {
			continue
		}
		if p.data.Has(at) {
			at = p.data.Without(at)
			continue
		}
		if p.graph.covered.Next(at) == disasm.None && p.begins(at) {
			return true
		}
		p.todo = append(p.todo, waypoint{at, p.gotos[0]})
		if !p.visit() {
			return false
		}
	}
	return true
}

// begins tells whether another function begins at an offset: code that saves the return address before control goes
// anywhere, where this function has done so. Behind Rust's noreturn calls the next function follows a pool.
func (p *pass) begins(at uint32) bool {
	framed := p.record.states[p.gotos[0]].saved.Has(p.interp.arch.LR)
	return framed && disasm.BeginsWith(&p.cursor, p.extent.at(at), disasm.SavesLR)
}
