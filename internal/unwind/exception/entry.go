package exception

import (
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// value is what a register or a word of the stack holds in a trap entry: an offset from what
// a register held when the trap came, a number, or nobody knows.
type value struct {
	kind kind
	base cpu.Reg
	off  uint64
}

type kind uint8

const (
	unknown kind = iota
	number
	start
)

// globalPointer is gp, by which linkers let code reach variables.
const globalPointer cpu.Reg = 3

// xepc and xscratch among the registers of a trap entry: behind x0 to x31.
const (
	epc cpu.Reg = 32 + iota
	scratch
	entryRegs
)

func startOf(r cpu.Reg) value { return value{kind: start, base: r} }

func (v value) isStart(r cpu.Reg) bool { return v.kind == start && v.base == r }

func (v value) plus(n int64) value {
	if v.kind != unknown {
		v.off += uint64(n)
	}
	return v
}

// entryState is the registers in a trap entry, and the words that were stored. read: xepc was
// read, which an entry does before it calls.
type entryState struct {
	regs  [entryRegs]value
	slots []slot
	read  bool
}

type slot struct{ addr, val value }

// newEntryState is the state when the trap comes. gp is the same everywhere in a program.
func newEntryState(gp value) *entryState {
	st := new(entryState)
	for r := range entryRegs {
		st.regs[r] = startOf(r)
	}
	st.regs[0] = value{kind: number}
	if gp.kind == number {
		st.regs[globalPointer] = gp
	}
	return st
}

func (st *entryState) clone() *entryState {
	c := *st
	c.slots = slices.Clone(st.slots)
	return &c
}

func (st *entryState) set(r cpu.Reg, v value) {
	if r != 0 && r < entryRegs {
		st.regs[r] = v
	}
}

func (st *entryState) get(r cpu.Reg) value {
	if r < entryRegs {
		return st.regs[r]
	}
	return value{}
}

func (st *entryState) forget(set cpu.RegSet) {
	for ; set != 0; set = set.Without(set.First()) {
		st.set(set.First(), value{})
	}
}

func (st *entryState) store(addr, v value) {
	if addr.kind == unknown {
		return
	}
	for i := range st.slots {
		if st.slots[i].addr == addr {
			st.slots[i].val = v
			return
		}
	}
	st.slots = append(st.slots, slot{addr, v})
}

// explorer follows the code of a trap entry.
type explorer struct {
	module *target.Module
	mem    *target.Memory
	goal   uint64 // image address at which the frame stands
	exact  bool   // the instruction at goal comes next; else the call before it is not over
	gp     value  // a number where it is known
}

// Bounds of a search: instructions, ways that are open.
const (
	maxSteps = 2000
	maxOpen  = 16
)

// way is a place that the entry comes to.
type way struct {
	pc uint64
	st *entryState
}

// from follows all ways from an entry, and returns the states with which they come to the
// goal.
func (x *explorer) from(entry uint64) (found []*entryState) {
	open := []way{{entry, newEntryState(x.gp)}}
	var in [1]cpu.Insn
	for steps := 0; len(open) > 0 && steps < maxSteps; steps++ {
		w := &open[len(open)-1]
		img := x.module.Image
		code := img.Code(w.pc)
		switch {
		case x.exact && w.pc == x.goal:
			found = append(found, w.st)
			open = open[:len(open)-1]
			continue
		case img.Arch.Decoder.Decode(code, w.pc, 0, in[:]) == 0, w.pc-entry > 2*maxEntry, in[0].Op == cpu.OpCall && !w.st.read:
			open = open[:len(open)-1]
			continue
		}
		next := w.pc + uint64(in[0].Len)
		if in[0].Op == cpu.OpCall && !x.exact && next == x.goal {
			found = append(found, w.st)
			open = open[:len(open)-1]
			continue
		}
		x.exec(w.st, &in[0], code)
		w.pc = next
		open = branch(open, &in[0], img.Arch.PC)
	}
	return found
}

// branch goes where a jump goes from the last of the open ways.
func branch(open []way, in *cpu.Insn, pc cpu.Reg) []way {
	last := &open[len(open)-1]
	direct := in.Op == cpu.OpJump && in.Src == cpu.NoReg && in.Flags&cpu.FlagMemory == 0 && in.Target != 0
	switch conditional := in.Flags&cpu.FlagConditional != 0; {
	case in.Op == cpu.OpJump && conditional && len(open) < maxOpen:
		return append(open, way{in.Target, last.st.clone()})
	case direct && !conditional:
		last.pc = in.Target
	case in.Ends(pc):
		return open[:len(open)-1]
	}
	return open
}

// exec does what an instruction does.
func (x *explorer) exec(st *entryState, in *cpu.Insn, code []byte) {
	arch := x.module.Image.Arch
	if len(code) >= 4 && in.Len == 4 {
		if c, ok := csrOf(binary.LittleEndian.Uint32(code)); ok {
			st.csr(&c)
			return
		}
	}
	addr := st.get(in.Base).plus(in.Imm)
	if in.Base == cpu.NoReg || in.Index != cpu.NoReg {
		addr = value{}
	}
	word := int(in.Size) == arch.RegSize
	switch in.Op {
	case cpu.OpConst:
		v := value{kind: number, off: uint64(in.Imm)}
		if in.Flags&cpu.FlagAddress != 0 {
			v.off = x.module.ToTarget(v.off)
		}
		st.set(in.Dst, v)
	case cpu.OpMove:
		st.set(in.Dst, st.get(in.Src))
	case cpu.OpAddImm:
		st.set(in.Dst, st.get(in.Src).plus(in.Imm))
	case cpu.OpLoad:
		st.set(in.Dst, x.load(st, addr, word))
	case cpu.OpStore:
		if word {
			st.store(addr, st.get(in.Src))
		}
	case cpu.OpStoreMulti:
		for list := in.List; list != 0; list = list.Without(list.First()) {
			st.store(addr, st.get(list.First()))
			addr = addr.plus(int64(in.Size))
		}
	case cpu.OpCall:
		kept := arch.Preserved.With(arch.SP)
		for r := range cpu.Reg(32) {
			if !kept.Has(r) && r != globalPointer && r != 4 { // tp
				st.set(r, value{})
			}
		}
	case cpu.OpJump, cpu.OpReturn, cpu.OpTrap, cpu.OpNop:
	default:
		st.set(in.Dst, value{})
		st.forget(in.List)
	}
	if in.WB != 0 {
		st.set(in.Base, st.get(in.Base).plus(int64(in.WB)))
	}
}

// load is a word of the stack that was stored before, or one of memory at an address that the
// code states: kernels keep there the task that runs, and the top of the interrupts' stack.
func (x *explorer) load(st *entryState, addr value, word bool) value {
	if !word || addr.kind == unknown {
		return value{}
	}
	for i := range st.slots {
		if st.slots[i].addr == addr {
			return st.slots[i].val
		}
	}
	if v, ok := x.mem.Word(addr.off); ok && addr.kind == number {
		return value{kind: number, off: v}
	}
	return value{}
}
