package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// registers follows what registers hold through the instructions of a function, in the order of their addresses. V is
// what is known of a register, its zero value nothing. Where branches lead is noted, and not followed.
type registers[V any] struct {
	code     disasm.Code
	at       [cpu.MaxRegs]V
	branches []uint64 // targets
}

// of is what is known of a register.
func (r *registers[V]) of(reg cpu.Reg) (v V) {
	if reg < cpu.MaxRegs {
		v = r.at[reg]
	}
	return v
}

// set makes v what is known of registers.
func (r *registers[V]) set(regs cpu.RegSet, v V) {
	for ; regs != 0; regs = regs.Without(regs.First()) {
		r.at[regs.First()] = v
	}
}

// step goes on behind an instruction, which leaves made in its Dst.
func (r *registers[V]) step(in *cpu.Insn, made V) {
	var nothing V
	switch in.Op {
	case cpu.OpNop, cpu.OpTrap:
		return
	case cpu.OpJump:
		if in.Target != 0 {
			r.branches = append(r.branches, in.Target)
		}
		return
	case cpu.OpCall:
		r.set(r.code.CallerSaved(), nothing)
		return
	}
	r.set(in.List.With(in.Dst2), nothing)
	if in.WB != 0 {
		r.set(cpu.SetOf(in.Base), nothing)
	}
	r.set(cpu.SetOf(in.Dst), made)
}

// joined tells whether another way may come in behind one place, up to another.
func (r *registers[V]) joined(from, to uint64) bool {
	return slices.ContainsFunc(r.branches, func(b uint64) bool { return b > from && b <= to })
}

// maxCallerSize bounds the function whose calls are looked through, in bytes.
const maxCallerSize = 64 << 10

// maxSlot bounds the offsets of functions in tables.
const maxSlot = 1 << 9

// reads follows pointers: what registers were read from.
type reads struct{ registers[slotRead] }

// slotRead is what a register was read from: offset behind what a pointer points to, by the instruction at pc.
// Where the pointer was itself read so, field is the offset it was read at. pointer: the register may hold a
// pointer, because that was passed to the function, returned by a call, or read from memory.
type slotRead struct {
	offset  uint64
	field   uint64
	pc      uint64
	known   bool
	inField bool
	pointer bool
}

// newReads begins at a function's entry, where each register may have been passed.
func newReads(code disasm.Code) (r reads) {
	r.code = code
	for i := range r.at {
		r.at[i].pointer = true
	}
	return r
}

// slot is the offset at which a call reads its target.
func (r *reads) slot(c callWithin) (offset uint64, ok bool) {
	var v slotRead
	disasm.Each(r.code, c.entry, c.end, func(at disasm.Addr, in *cpu.Insn) bool {
		if at.PC == c.site {
			v = r.called(at, in)
		}
		r.follow(at.PC, in)
		return true
	})
	return v.offset, v.known && !r.joined(v.pc, c.site)
}

// callWithin is a call and the function that the call is in.
type callWithin struct {
	entry     disasm.Addr
	end, site uint64
}

// callWithin is the call that returns to the place; ok is false where no call does, or nobody knows the function.
func (p place) callWithin() (c callWithin, ok bool) {
	if !p.Img.Segments.Executable(p.at.PC - 1) {
		return c, false
	}
	call, ok := p.callBefore()
	site := inImage(p.m, call.Addr)
	entry, found := p.Entries.Nearest(disasm.Addr{PC: site, Mode: p.at.Mode})
	if !ok || !found {
		return c, false
	}
	return callWithin{disasm.Addr{PC: entry, Mode: p.at.Mode}, min(p.Entries.Next(site, site), entry+maxCallerSize), site}, true
}

// called is where the call at a place reads its target.
func (r *reads) called(at disasm.Addr, in *cpu.Insn) slotRead {
	switch {
	case in.Op != cpu.OpCall:
		return slotRead{}
	case in.Flags&cpu.FlagMemory != 0:
		return r.read(at.PC, in)
	}
	return r.of(callsBy(r.code, in))
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
	if in.Index != cpu.NoReg || !r.of(in.Base).pointer || in.Base == r.code.Arch.SP || in.Imm < 0 || in.Imm >= maxSlot {
		return slotRead{}
	}
	of := &r.at[in.Base]
	return slotRead{offset: uint64(in.Imm), field: of.offset, pc: pc, known: true, pointer: true, inField: of.known}
}

// follow goes on behind an instruction.
func (r *reads) follow(pc uint64, in *cpu.Insn) {
	made := slotRead{}
	switch in.Op {
	case cpu.OpLoad:
		made = r.read(pc, in)
		made.pointer = true
	case cpu.OpMove:
		made = r.of(in.Src)
	}
	r.step(in, made)
	if in.Op == cpu.OpCall {
		r.set(r.code.CallerSaved(), slotRead{pointer: true})
	}
}
