package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/features"
	"github.com/backsight/backsight/target"
)

// FunctionAt is what stays of the function that has the code at a target address; nil where no function is known to.
func (g *Graph) FunctionAt(m *target.Module, pc uint64, mode cpu.Mode) *features.Function {
	p, ok := g.in(m, pc, mode)
	if !ok {
		return nil
	}
	f := p.function()
	if f == nil {
		return nil
	}
	return p.featuresOf(f)
}

// NamedBefore are hashes of what the function that has the code at a target address names right in front of there: of the call
// before, what that is given, and where it goes. tells: that is enough to know the place by.
func (g *Graph) NamedBefore(m *target.Module, pc uint64, mode cpu.Mode) (named []uint32, tells bool) {
	p, ok := g.in(m, pc-1, mode)
	if !ok {
		return nil, false
	}
	f := p.function()
	if f == nil {
		return nil, false
	}
	b := features.InFront(p.Image, f, inImage(m, pc))
	for _, called := range b.Called {
		if to := p.Flows.Function(called); to != nil {
			if fn := p.featuresOf(to); len(fn.Named) >= 2 {
				b.Named = append(b.Named, fn.Print())
			}
		}
	}
	slices.Sort(b.Named)
	return slices.Compact(b.Named), b.Tells
}

// function is the function that the place belongs to, nil where none is known to.
func (p place) function() *dataflow.Function {
	if f := p.holding(); f != nil {
		return f
	}
	return p.owner(p.at)
}

func (p *program) featuresOf(f *dataflow.Function) *features.Function {
	return p.memos.features.Get(f.Entry, func() *features.Function { return features.Of(p.Image, f) })
}

// ImportCalled is the name by which the call before a return address, a target address in m, asks the dynamic linker
// for its callee; "" where it does not.
func (g *Graph) ImportCalled(m *target.Module, ra uint64, mode cpu.Mode) string {
	p, ok := g.in(m, ra, mode)
	if !ok {
		return ""
	}
	call, ok := p.callBefore()
	if !ok {
		return ""
	}
	slot := inImage(m, call.Target) // of a call through memory
	switch {
	case call.Direct:
		slot, _ = p.importAt(disasm.Addr{PC: slot, Mode: call.TargetMode})
	case call.Target == 0:
		slot = p.callAt(disasm.Addr{PC: inImage(m, call.Addr), Mode: mode}).slot
	}
	name, _ := p.Img.Import(slot)
	return name
}
