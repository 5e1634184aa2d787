package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/target"
)

// The bounds of a search for the fields that a table's address is stored in.
const (
	maxHandedOn  = 4  // calls that hand on the address, one within the other
	maxFlowsInto = 64 // functions
)

// tableFlow follows the address of a table through code, from where instructions build the address to the fields of
// objects in which the address is stored:
//
//	crashy_init        lui a3,%hi(pops); addiu a3,a3,%lo(pops); jalr v0     proc_create(…, &pops)
//	proc_create        lw a3,…; jal proc_create_data                        hands on its fourth argument
//	proc_create_data   move s0,a3; …; sw s0,28(v0)                          p->proc_ops = proc_ops: field 28
type tableFlow struct {
	capture
	fields map[uint64]bool
	seen   map[handedOn]bool
}

// handedOn is a function, by a target address, that is handed the address of a table in a register.
type handedOn struct {
	entry uint64
	reg   cpu.Reg
}

// fieldsOf are the fields in which code stores the address of the table at an image address in m, of which builders build
// the address.
func fieldsOf(c capture, m *target.Module, table uint64, builders []discover.Mention) map[uint64]bool {
	t := tableFlow{capture: c, fields: map[uint64]bool{}, seen: map[handedOn]bool{}}
	mask := m.Image.Arch.AddrMask()
	for _, by := range builders {
		t.follow(m, by.Function, 0, func(v absint.Value) bool {
			return v.Kind == absint.Constant && uint64(v.Off)&mask == table
		})
	}
	return t.fields
}

// enter follows what a function is handed in a register.
func (t *tableFlow) enter(entry uint64, mode cpu.Mode, reg cpu.Reg, depth int) {
	p, known := t.find(disasm.Addr{PC: entry, Mode: mode})
	key := handedOn{entry, reg}
	if depth > maxHandedOn || t.seen[key] || len(t.seen) >= maxFlowsInto || !known {
		return
	}
	t.seen[key] = true
	t.follow(p.m, p.at, depth, func(v absint.Value) bool { return v.IsStartOf(reg) })
}

// follow looks through the function at entry in m for what is done with the values that are the address.
func (t *tableFlow) follow(m *target.Module, entry disasm.Addr, depth int, is func(absint.Value) bool) {
	p := t.of(m.Image)
	fn := p.Flows.Function(entry)
	if fn == nil {
		return
	}
	end := min(fn.ContiguousEnd(), entry.PC+maxCallerSize)
	disasm.Each(p.Code, entry, end, func(at disasm.Addr, in *cpu.Insn) bool {
		switch in.Op {
		case cpu.OpStore:
			t.stored(p, fn, at, in, is)
		case cpu.OpCall, cpu.OpJump:
			if in.Op == cpu.OpCall || in.Target < entry.PC || in.Target >= end {
				t.passed(m, fn, at, depth, is)
			}
		}
		return true
	})
}

// stored notes the field that an instruction stores the address in.
func (t *tableFlow) stored(p *program, fn *dataflow.Function, at disasm.Addr, in *cpu.Insn, is func(absint.Value) bool) {
	field, ok := storedField(p.Arch, in)
	if !ok || in.Src >= cpu.MaxRegs {
		return
	}
	var st absint.State
	if fn.StateAt(at, &st) && is(st.Regs[in.Src]) {
		t.fields[field] = true
	}
}

// passed goes on in the function that the call or the jump at a place in m goes to, if that is handed the address.
func (t *tableFlow) passed(m *target.Module, fn *dataflow.Function, at disasm.Addr, depth int, is func(absint.Value) bool) {
	var st absint.State
	if !dataflow.StateAtCall(fn, at, &st) {
		return
	}
	code := disasm.Code{Arch: m.Image.Arch}
	for set := code.CallerSaved().Without(code.Arch.LR); set != 0; set = set.Without(set.First()) {
		if !is(st.Regs[set.First()]) {
			continue
		}
		if to, mode, ok := t.goes(m, at, &st); ok {
			t.enter(to, mode, set.First(), depth+1)
		}
	}
}

// goes is where the call or the jump at a place in m goes to, a target address. st is the state there. The address
// of another module's function is a constant.
func (t *tableFlow) goes(m *target.Module, at disasm.Addr, st *absint.State) (to uint64, mode cpu.Mode, ok bool) {
	var in cpu.Insn
	p := t.of(m.Image)
	if !p.One(at, &in) {
		return 0, 0, false
	}
	if in.Target != 0 {
		return m.ToTarget(in.Target), in.TargetMode, true
	}
	if in.Flags&cpu.FlagMemory == 0 && in.Src < cpu.MaxRegs && in.Imm == 0 {
		if v := st.Regs[in.Src]; v.Kind == absint.Constant && v.Base != absint.FromWritable {
			to, mode = p.Arch.SplitCode(m.ToTarget(uint64(v.Off) & p.Arch.AddrMask()))
			return to, mode, true
		}
	}
	return t.Callee(t.snap, m.ToTarget(at.PC), at.Mode)
}
