package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Arguments implements unwind.CallGraph.
func (w *Graph) Arguments(m *target.Module, pc uint64, mode cpu.Mode, exact bool) (list []unwind.Argument) {
	p, fn := w.holding(m, pc, mode)
	if fn == nil {
		return nil
	}
	st, at := new(absint.State), disasm.Addr{PC: inImage(m, pc), Mode: mode}
	known := fn.StateAt
	if !exact {
		known = fn.StateAfterCall
	}
	if !known(at, st) {
		return nil
	}
	passing := disasm.Code{Arch: p.Arch}.CallerSaved().Without(p.Arch.LR)
	for ; passing != 0; passing = passing.Without(passing.First()) {
		if o, ok := keeps(p.Arch, st, exact, passing.First()); ok {
			list = append(list, unwind.Argument{Reg: passing.First(), At: o})
		}
	}
	return list
}

// Passes implements unwind.CallGraph.
func (w *Graph) Passes(m *target.Module, ra uint64, mode cpu.Mode, r cpu.Reg) (o unwind.Operand) {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return o
	}
	at := inImage(m, ra)
	text, ok := m.Image.Segments.At(at - 1)
	if !ok {
		return o
	}
	call, is := callsite.InSegment(m, text, at, mode)
	if !is {
		return o
	}
	_, fn := w.holding(m, call.Addr, mode)
	var st absint.State
	if fn == nil || !dataflow.StateAtCall(fn, disasm.Addr{PC: inImage(m, call.Addr), Mode: mode}, &st) {
		return o
	}
	switch v := st.Regs[r]; {
	case v.Kind == absint.Constant && v.Base != absint.FromWritable:
		return unwind.Operand{Kind: unwind.Number, Off: v.Off}
	case v.Kind == absint.StartRelative && v.OfRegister():
		return unwind.Operand{Kind: unwind.InRegister, Reg: cpu.Reg(v.Base), Off: v.Off}
	}
	return o
}

// holding is the function that has pc in m, nil where that is not known.
func (w *Graph) holding(m *target.Module, pc uint64, mode cpu.Mode) (*program, *dataflow.Function) {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return nil, nil
	}
	p, at := w.of(m.Image), disasm.Addr{PC: inImage(m, pc), Mode: mode}
	for _, entry := range p.beginnings(at) {
		if fn := p.Flows.Function(entry); fn.Contains(at.PC) && !fn.ByGuess(at.PC) {
			return p, fn
		}
	}
	return p, nil
}

// keptByCallees are the registers that a call preserves and that may hold any value.
func keptByCallees(arch *cpu.Arch) cpu.RegSet {
	return arch.Preserved.Without(arch.SP).Without(arch.PC)
}

// keeps is where a function keeps what it was passed in a register.
func keeps(arch *cpu.Arch, st *absint.State, exact bool, passed cpu.Reg) (o unwind.Operand, ok bool) {
	in := keptByCallees(arch)
	if exact {
		in = ^cpu.RegSet(0) >> (64 - len(arch.Regs))
	}
	for set := in.Without(arch.SP).Without(arch.PC); set != 0; set = set.Without(set.First()) {
		if v := st.Regs[set.First()]; v.RelativeTo(passed) {
			return unwind.Operand{Kind: unwind.InRegister, Reg: set.First(), Off: -v.Off}, true
		}
	}
	for i := range st.Slots {
		sl := &st.Slots[i]
		fits := int(sl.Size) == arch.AddrSize || sl.Size == 4 // an int, on processors of 64 bits
		if fits && sl.Val.IsStartOf(passed) && sl.Base == absint.Base(arch.SP) && !sl.Released() {
			return unwind.Operand{Kind: unwind.InMemory, Reg: arch.SP, Off: sl.Off - arch.EntryCFA, Size: sl.Size}, true
		}
	}
	return o, false
}
