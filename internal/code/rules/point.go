package rules

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
)

// Point is the program point that a frame stands at, in image addresses: PC in an exact
// frame, else the return address PC of the call at Site.
type Point struct {
	Site, PC uint64
	Mode     cpu.Mode
	Exact    bool
}

// PointOf finds the call that a resuming frame stands behind; false where no call stands
// there, or no code.
func PointOf(c disasm.Code, q *stackwalk.Query) (Point, bool) {
	p := Point{PC: q.PC, Site: q.PC, Mode: q.Mode, Exact: q.Exact}
	if q.Exact {
		return p, c.Has(q.PC)
	}
	p.PC = q.Resume
	site, ok := c.Arch.Decoder.CallBefore(c.Img.Segments.Before(q.Resume, 16), q.Resume, q.Mode)
	p.Site = site.Addr
	return p, ok
}

// Addr is where the frame goes on.
func (p *Point) Addr() disasm.Addr { return disasm.Addr{PC: p.PC, Mode: p.Mode} }

// SiteAddr is the instruction that the frame is at: the call, or the one at PC.
func (p *Point) SiteAddr() disasm.Addr { return disasm.Addr{PC: p.Site, Mode: p.Mode} }

// StateIn is the state at the point by a function's analysis; false where control from the
// function's entry does not come there.
func (p *Point) StateIn(f *dataflow.Function, st *absint.State) bool {
	if p.Exact {
		return f.StateAt(p.Addr(), st)
	}
	return f.StateAfterCall(p.SiteAddr(), st)
}
