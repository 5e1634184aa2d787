package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// Step is an instruction of a function, with what holds where it takes effect: a transfer's delay slot has
// run by then.
type Step struct {
	disasm.Addr
	In *cpu.Insn
	// Before is what holds before, After what holds behind; of a transfer that is the same, apart from what
	// the instruction itself does to registers. Whoever keeps one copies it.
	Before, After *absint.State
	// First: a block begins here. Guess: a jump that was not resolved is thought to lead here.
	First, Guess bool
	// Named is what SP is called behind the instruction where that computes SP from what is not known
	// (alignment, alloca); no kind elsewhere.
	Named absint.Value
}

// EachStep calls visit for the instructions of a function, block by block in order of address, delay slots in
// front of their transfers. visit keeps nothing of the step.
func EachStep(f *Function, visit func(s *Step)) {
	r := stepper{f: f, m: f.interp, cursor: disasm.NewCursor(f.an.Code), visit: visit}
	for _, b := range f.blocks {
		r.block(b)
	}
}

// stepper goes through the blocks of a function once more.
type stepper struct {
	f             *Function
	m             absint.Interp
	cursor        disasm.Cursor
	before, after absint.State
	step          Step
	visit         func(s *Step)
}

func (r *stepper) block(b *block) {
	b.in.Decode(&r.after)
	r.cursor.Seek(b.addr())
	for pc := b.start; pc < b.end; {
		in := r.cursor.Next(pc)
		if in == nil {
			return
		}
		if disasm.Transfers(in, r.f.an.Arch) {
			r.transfer(b, r.cursor.Step(in, pc), pc)
			return
		}
		r.run(b, in, pc)
		pc += uint64(in.Len)
	}
}

// run executes an instruction.
func (r *stepper) run(b *block, in *cpu.Insn, pc uint64) {
	r.before.CopyFrom(&r.after)
	r.m.Exec(&r.after, in, pc)
	r.tell(b, in, pc)
}

// transfer ends a block: what pops the PC has popped the rest by then.
func (r *stepper) transfer(b *block, t stepping.Step, pc uint64) {
	if t.Slot != nil {
		r.run(b, t.Slot, pc+uint64(t.In.Len))
	}
	r.before.CopyFrom(&r.after)
	if t.In.Op == cpu.OpLoad || t.In.Op == cpu.OpLoadMulti {
		r.m.Exec(&r.after, t.In, pc)
	}
	r.tell(b, t.In, pc)
}

func (r *stepper) tell(b *block, in *cpu.Insn, pc uint64) {
	r.step = Step{Addr: disasm.Addr{PC: pc, Mode: b.mode}, In: in, Before: &r.before, After: &r.after, First: pc == b.start, Guess: b.via >= edgeUnsizedTable}
	r.step.Named, _ = r.m.Named(pc)
	r.visit(&r.step)
}

// EachEdge calls visit for the ways on which control goes from one block of a function to another, with what holds on
// the way. from and to are where the blocks begin.
func EachEdge(f *Function, visit func(from, to uint64, st *absint.State)) {
	s := newCallPaths(f, f.Entry)
	for _, b := range f.blocks {
		s.pass(b, b.in, func(to uint64, st *absint.State, _ edge) { visit(b.start, to, st) })
	}
}

// TableTargets are the functions that an indirect transfer may go to whose target is an element of a table; bounded: the
// code tells how many elements the table has. constant tells where the program writes nothing: elsewhere a table may have others.
func TableTargets(f *Function, target absint.Value, mode cpu.Mode, constant func(addr uint64) bool) (list []disasm.Addr, bounded bool) {
	if target.Kind != absint.TableElement {
		return nil, false
	}
	t := f.interp.JumpTables.Table(target)
	if !constant(t.At) {
		return nil, false
	}
	n, bounded := t.Limit, t.Limit > 0
	if !bounded || n > maxElements {
		n, bounded = maxElements, false
	}
	for i := range n {
		to, ok := elementTarget(f.an.Code, &t, uint64(i), mode)
		if !ok {
			return list, false
		}
		if f.an.Arch.ISABit && !t.HasRel {
			if to, ok = f.an.Pointer(wordAt(f, &t, i)); !ok {
				return list, false
			}
		}
		list = append(list, to)
	}
	return list, bounded
}

// wordAt is an element of a table of pointers.
func wordAt(f *Function, t *absint.JumpTable, i int64) uint64 {
	v, _ := f.an.Img.Uint(t.At+uint64(i)*uint64(t.Size), int(t.Size))
	return v
}

// Through is where an indirect transfer goes in a state: the value of its target.
func Through(f *Function, st *absint.State, in *cpu.Insn) absint.Value {
	if in.Flags&cpu.FlagMemory != 0 {
		return f.interp.LoadedTarget(st, st.Operand(in))
	}
	return st.RegisterTarget(in, f.an.Arch)
}

// Resolve is the place of the image that a target is, if that is a constant that no program writes.
func Resolve(f *Function, target absint.Value) (disasm.Addr, bool) {
	if target.Base == absint.FromWritable {
		return disasm.Addr{}, false
	}
	return f.interp.CodeAt(target)
}
