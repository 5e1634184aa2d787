package edges

import (
	"github.com/backsight/backsight/cpu"
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
	f := p.holding()
	if f == nil {
		f = p.owner(p.at)
	}
	if f == nil {
		return nil
	}
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
