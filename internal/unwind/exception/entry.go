package exception

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
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

// The exception PC and, of RISC-V, xscratch among the registers of a trap entry: behind the
// 32 general ones, of which 0 holds 0.
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
	// zero is the register that holds 0, NoReg for none.
	zero cpu.Reg
	// mode is the processor mode of ARM whose stack pointer sp is, 0 where that is not known;
	// saved is the sp of the mode on whose stack the entry put what the processor banked.
	mode  uint32
	saved value
}

type slot struct{ addr, val value }

// newEntryState is the state when the trap comes. globals is the register by which linkers
// let code reach variables, gp what it holds everywhere in a program.
func newEntryState(zero, globals cpu.Reg, gp value) *entryState {
	st := &entryState{zero: zero}
	for r := range entryRegs {
		st.regs[r] = startOf(r)
	}
	if zero < epc {
		st.regs[zero] = value{kind: number}
	}
	if gp.kind == number {
		st.set(globals, gp)
	}
	return st
}

func (st *entryState) clone() *entryState {
	c := *st
	c.slots = slices.Clone(st.slots)
	return &c
}

func (st *entryState) set(r cpu.Reg, v value) {
	if r != st.zero && r < epc {
		st.regs[r] = v
	}
}

func (st *entryState) get(r cpu.Reg) value {
	if r < epc {
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
	// globals is the register of gp, threads the one of the thread's own variables.
	globals, threads cpu.Reg
	mode             cpu.Mode // the instruction set of the code
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
	st := newEntryState(x.module.Image.Arch.Zero, x.globals, x.gp)
	if isBanked(x.module.Image.Arch) {
		st.bank()
	}
	open := []way{{entry, st}}
	for steps := 0; len(open) > 0 && steps < maxSteps; steps++ {
		w := &open[len(open)-1]
		if x.exact && w.pc == x.goal {
			found = append(found, w.st)
			open = open[:len(open)-1]
			continue
		}
		in, next, ok := x.next(w)
		switch {
		case !ok, w.pc-entry > 2*maxEntry, in.Op == cpu.OpCall && !w.st.read:
			open = open[:len(open)-1]
		case in.Op == cpu.OpCall && !x.exact && next == x.goal:
			found = append(found, w.st)
			open = open[:len(open)-1]
		case x.stopsHere(&in):
			open = open[:len(open)-1]
		default:
			code := x.module.Image.Segments.Code(w.pc)
			w.pc = next
			if other := x.aligns(w.st, &in); other != nil && len(open) < maxOpen {
				open = append(open, way{next, other})
				continue
			}
			x.exec(w.st, &in, code)
			open = branch(open, &in, x.module.Image.Arch.PC)
		}
	}
	return found
}

// next is the instruction at which a way stands, and where the next one begins. What stands in
// a delay slot has then been done.
func (x *explorer) next(w *way) (in cpu.Insn, next uint64, ok bool) {
	var buf [2]cpu.Insn
	img := x.module.Image
	code := img.Segments.Code(w.pc)
	n := img.Arch.Decoder.Decode(code, w.pc, x.mode, buf[:])
	if n == 0 {
		return in, 0, false
	}
	step := stepping.StepOf(buf[:n], w.pc)
	if step.Slot != nil {
		x.exec(w.st, step.Slot, code[step.In.Len:])
	}
	return *step.In, step.Next, !step.Cut
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
