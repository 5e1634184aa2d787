package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// reads follows pointers through a function, from one instruction to the next, by what the registers hold.
type reads struct {
	code     disasm.Code
	pointers cpu.RegSet // registers with what the function was handed, got back from a call, or read from memory
	at       [cpu.MaxRegs]slotRead
	targets  []uint64 // of the function's branches
}

// slotRead is what a register was read from: offset behind what a pointer points to, by the instruction at pc.
// Where the pointer was itself read so, field is the offset it was read at.
type slotRead struct {
	offset  uint64
	field   uint64
	pc      uint64
	known   bool
	inField bool
}

// slot is the offset at which the call at site reads its target, in the function from entry to end.
func (r *reads) slot(entry disasm.Addr, end, site uint64) (offset uint64, ok bool) {
	r.pointers = ^cpu.RegSet(0)
	var v slotRead
	disasm.Each(r.code, entry, end, func(at disasm.Addr, in *cpu.Insn) bool {
		if at.PC == site {
			v = r.called(at, in)
		}
		r.step(at.PC, in)
		return true
	})
	for _, to := range r.targets { // another way may come in between
		v.known = v.known && (to <= v.pc || to > site)
	}
	return v.offset, v.known
}

// called is where the call at a place reads its target.
func (r *reads) called(at disasm.Addr, in *cpu.Insn) slotRead {
	switch {
	case in.Op != cpu.OpCall:
		return slotRead{}
	case in.Flags&cpu.FlagMemory != 0:
		return r.read(at.PC, in)
	}
	if reg := callsBy(r.code, in); reg < cpu.MaxRegs {
		return r.at[reg]
	}
	return slotRead{}
}

// callsBy is the register that holds the target of a call, NoReg where none does.
func callsBy(code disasm.Code, in *cpu.Insn) cpu.Reg {
	switch {
	case in.Target != 0:
		return disasm.ThunkRegister(code, disasm.Target(in))
	case in.Flags&cpu.FlagMemory != 0 || in.Imm != 0:
		return cpu.NoReg
	}
	return in.Src
}

// read is what an instruction reads.
func (r *reads) read(pc uint64, in *cpu.Insn) slotRead {
	if in.Index != cpu.NoReg || !r.pointers.Has(in.Base) || in.Base == r.code.Arch.SP || in.Imm < 0 || in.Imm >= maxSlot {
		return slotRead{}
	}
	of := &r.at[in.Base]
	return slotRead{offset: uint64(in.Imm), field: of.offset, pc: pc, known: true, inField: of.known}
}

// step goes on behind an instruction.
func (r *reads) step(pc uint64, in *cpu.Insn) {
	switch in.Op {
	case cpu.OpNop, cpu.OpTrap:
	case cpu.OpJump:
		if in.Target != 0 {
			r.targets = append(r.targets, in.Target)
		}
	case cpu.OpLoad:
		v := r.read(pc, in)
		r.lose(cpu.SetOf(in.Dst, in.Dst2))
		if in.Dst < cpu.MaxRegs {
			r.at[in.Dst], r.pointers = v, r.pointers.With(in.Dst)
		}
		if in.WB != 0 {
			r.lose(cpu.SetOf(in.Base))
		}
	case cpu.OpStore:
		if in.WB != 0 {
			r.lose(cpu.SetOf(in.Base))
		}
	case cpu.OpMove:
		from, pointer := slotRead{}, r.pointers.Has(in.Src)
		if in.Src < cpu.MaxRegs {
			from = r.at[in.Src]
		}
		if r.lose(cpu.SetOf(in.Dst)); in.Dst < cpu.MaxRegs && pointer {
			r.at[in.Dst], r.pointers = from, r.pointers.With(in.Dst)
		}
	case cpu.OpCall:
		gone := r.code.CallerSaved()
		r.lose(gone)
		r.pointers |= gone
	case cpu.OpClobber, cpu.OpUnknown:
		r.lose(in.List)
	default:
		r.lose(in.List.With(in.Dst).With(in.Dst2))
	}
}

// lose forgets registers.
func (r *reads) lose(set cpu.RegSet) {
	r.pointers &^= set
	for ; set != 0; set = set.Without(set.First()) {
		r.at[set.First()] = slotRead{}
	}
}
