// Package edges tells of calls: where each goes, what leads to a function, and how surely. It answers
// the walker's questions (unwind.CallGraph) from the bottom up:
//
//	functions ─► stubs ─► tail calls ─► where a call goes ─► whether another call may have been made
//	pointers, registers ─► index of an image's calls ─► what leads to a function
package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/target"
)

// Graph implements unwind.CallGraph.
type Graph struct {
	// ranges lists the functions that an image's unwind tables know of; nil: no tables are asked.
	ranges discover.Ranges
}

// New returns the graph of calls. ranges lists the functions that unwind tables know of, in image
// addresses; nil: no tables are asked.
func New(ranges discover.Ranges) *Graph { return &Graph{ranges: ranges} }

// program is what is known of the calls of one image's code.
type program struct {
	*analyses.Image
	memos memos
}

type programKey struct{}

// of returns what is known of an image.
func (g *Graph) of(img *image.Image) *program {
	return img.Memo(programKey{}, func() any {
		p := &program{Image: analyses.Of(img, g.ranges)}
		p.memos.bound()
		return p
	}).(*program)
}

// place is a place in the code of a module, as the module's image has it.
type place struct {
	*program
	m  *target.Module
	at disasm.Addr
}

// in is the place at a target address in m; ok is false where m has no code that can be decoded.
func (g *Graph) in(m *target.Module, pc uint64, mode cpu.Mode) (p place, ok bool) {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return p, false
	}
	return place{g.of(m.Image), m, disasm.Addr{PC: inImage(m, pc), Mode: mode}}, true
}

// inImage is a target address in the terms of a module's image.
func inImage(m *target.Module, pc uint64) uint64 { return m.ToImage(pc) & m.Image.Arch.AddrMask() }

// callBefore is the call that returns to the place; ok is false where no call stands before.
func (p place) callBefore() (call cpu.CallSite, ok bool) {
	text, ok := p.Img.Segments.At(p.at.PC - 1)
	if !ok {
		return call, false
	}
	return callsite.InSegment(p.m, text, p.at.PC, p.at.Mode)
}

// capture is all code of a snapshot.
type capture struct {
	*Graph
	snap *target.Snapshot
}

// find is the place at a target address; ok is false where no module has code.
func (c capture) find(at disasm.Addr) (p place, ok bool) {
	m, ok := c.snap.ModuleAt(at.PC)
	if !ok {
		return p, false
	}
	return c.in(m, at.PC, at.Mode)
}
