package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Arguments implements stackwalk.CallGraph.
func (g *Graph) Arguments(m *target.Module, pc uint64, mode cpu.Mode, exact bool) (list []stackwalk.Argument) {
	p, ok := g.in(m, pc, mode)
	if !ok {
		return nil
	}
	fn := p.holding()
	if fn == nil {
		return nil
	}
	st := new(absint.State)
	known := fn.StateAt
	if !exact {
		known = fn.StateAfterCall
	}
	if !known(p.at, st) {
		return nil
	}
	passing := p.CallerSaved().Without(p.Arch.LR)
	for ; passing != 0; passing = passing.Without(passing.First()) {
		if o, ok := keeps(p.Arch, st, exact, passing.First()); ok {
			list = append(list, stackwalk.Argument{Reg: passing.First(), At: o})
		}
	}
	return list
}

// Passes implements stackwalk.CallGraph.
func (g *Graph) Passes(m *target.Module, ra uint64, mode cpu.Mode, r cpu.Reg) (o stackwalk.Operand) {
	p, ok := g.in(m, ra, mode)
	if !ok {
		return o
	}
	call, ok := p.callBefore()
	if !ok {
		return o
	}
	p.at.PC = inImage(m, call.Addr)
	fn := p.holding()
	var st absint.State
	if fn == nil || !dataflow.StateAtCall(fn, p.at, &st) {
		return o
	}
	switch v := st.Regs[r]; {
	case v.Kind == absint.Constant && v.Base != absint.FromWritable:
		return stackwalk.Operand{Kind: stackwalk.Number, Off: v.Off}
	case v.Kind == absint.StartRelative && v.OfRegister():
		return stackwalk.Operand{Kind: stackwalk.InRegister, Reg: cpu.Reg(v.Base), Off: v.Off}
	}
	return o
}

// keptByCallees are the registers that a call preserves and that may hold any value.
func keptByCallees(arch *cpu.Arch) cpu.RegSet {
	return arch.Preserved.Without(arch.SP).Without(arch.PC)
}

// keeps is where a function keeps what it was passed in a register.
func keeps(arch *cpu.Arch, st *absint.State, exact bool, passed cpu.Reg) (o stackwalk.Operand, ok bool) {
	in := keptByCallees(arch)
	if exact {
		in = ^cpu.RegSet(0) >> (64 - len(arch.Regs))
	}
	for set := in.Without(arch.SP).Without(arch.PC); set != 0; set = set.Without(set.First()) {
		if v := st.Regs[set.First()]; v.RelativeTo(passed) {
			return stackwalk.Operand{Kind: stackwalk.InRegister, Reg: set.First(), Off: -v.Off}, true
		}
	}
	for i := range st.Slots {
		sl := &st.Slots[i]
		fits := int(sl.Size) == arch.AddrSize || sl.Size == 4 // an int, on processors of 64 bits
		if fits && sl.Val.IsStartOf(passed) && sl.Base == absint.Base(arch.SP) && !sl.Released() {
			return stackwalk.Operand{Kind: stackwalk.InMemory, Reg: arch.SP, Off: sl.Off - arch.EntryCFA, Size: sl.Size}, true
		}
	}
	return o, false
}
