package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// transfer handles the end of a block: in, with its delay slot if it has one, at
// pc; next is the address behind both. Where it is not taken, st goes on behind
// it; taken is the state where it is, often the same one.
func (f *function) transfer(b *block, st, taken *state, in, slot *cpu.Insn, pc, next uint64) {
	conditional := in.Flags&cpu.FlagConditional != 0
	var early cpu.Insn
	if f.overtaken(st, in, slot, &early) {
		in = &early
	}
	if slot != nil && in.Flags&cpu.FlagLikely == 0 {
		f.exec(st, slot, pc+uint64(in.Len))
	}
	if conditional {
		// Not taken: go on behind it, a skipped delay slot left out.
		f.flow(jump{next, b.mode}, st, edgeJump, 0)
	}
	st = taken
	if slot != nil && in.Flags&cpu.FlagLikely != 0 {
		f.exec(st, slot, pc+uint64(in.Len))
	}
	switch in.Op {
	case cpu.OpCall:
		f.call(b, st, in, pc, next)
	case cpu.OpJump:
		f.jump(b, st, in, pc)
	case cpu.OpReturn:
		f.leaveVia(b, st, f.returnTarget(st, in), in)
	case cpu.OpLoad, cpu.OpLoadMulti:
		f.effect(st, in, pc)
		f.leaveVia(b, st, f.loadedPC(st, in), in)
	}
}

// overtaken makes a jump through a register whose delay slot overwrites that
// register a direct one, where the target is known. So end the long jumps within a
// MIPS16 function, around which the assembler keeps v0 (jr v0; move v0,at).
func (m *machine) overtaken(st *state, in, slot *cpu.Insn, out *cpu.Insn) bool {
	if slot == nil || in.Src == cpu.NoReg || in.Src != slot.Dst || in.Op != cpu.OpJump || in.Target != 0 {
		return false
	}
	to, ok := m.target(st, in)
	*out = *in
	out.Target, out.TargetMode = to.to, to.mode
	return ok
}

// returnTarget is the value that a return jumps to; x86's is popped.
func (m *machine) returnTarget(st *state, in *cpu.Insn) value {
	if in.Src != cpu.NoReg {
		v := st.get(in.Src)
		m.effect(st, in, 0)
		return v
	}
	v := st.load(st.get(m.arch.SP), uint8(m.arch.RegSize))
	if v.kind == contents && v.base == base(m.arch.SP) && v.off == 0 && v.add == 0 && m.arch.LR == cpu.NoReg {
		return startOf(m.arch.PC) // the slot that the call pushed
	}
	return v
}

// loadedPC is where a load of PC goes. Zcmp's popret returns through the link
// register that it just loaded.
func (m *machine) loadedPC(st *state, in *cpu.Insn) value {
	if in.Op == cpu.OpLoadMulti && !in.List.Has(m.arch.PC) {
		return st.get(m.arch.LR)
	}
	return st.get(m.arch.PC)
}

// link is the value that a return to the caller goes to.
func (m *machine) link() value {
	if m.arch.LR == cpu.NoReg {
		return startOf(m.arch.PC)
	}
	return startOf(m.arch.LR)
}

// call continues behind a call.
func (f *function) call(b *block, st *state, in *cpu.Insn, pc, next uint64) {
	target, known := f.target(st, in)
	if in.Dst != f.arch.LR && in.Dst != cpu.NoReg && known {
		// Millicode with a link register of its own (__riscv_save_N) runs as
		// part of this function.
		st.set(in.Dst, constant(int64(next)), f.arch)
		f.flow(target, st, edgeJump, 0)
		return
	}
	if known && (in.Flags&cpu.FlagMemory != 0 || in.Src != cpu.NoReg) {
		f.calls[pc] = value{kind: konst, off: int64(target.to) | int64(target.mode)}
	}
	if f.dead[pc] || f.an.isEntry(next, b.mode) {
		return
	}
	if known && retpoline(f.img, target) {
		f.through(b, st)
		return
	}
	if f.neverReturns(f.an, st, in, target, known) {
		f.dead[pc] = true
		return
	}
	f.callee(f.an, st, in, target, known, pc, next)
	f.noteBehind(st)
	f.flow(jump{next, b.mode}, st, edgeCall, pc)
}

// noteBehind keeps what holds behind every call: what a landing pad starts with.
func (f *function) noteBehind(st *state) {
	if f.behindCalls == nil {
		f.behindCalls = new(state)
		f.behindCalls.copyFrom(st)
		return
	}
	f.behindCalls.join(st)
}

// callee applies what a call leaves behind: the ABI's clobbers, or less where the
// callee is i386's way to read the PC (__x86.get_pc_thunk.bx), around which
// compilers keep values in registers that a call would clobber: the caller's SP in
// ecx, in a function that realigns its stack.
func (m *machine) callee(an *analysis, st *state, in *cpu.Insn, target jump, known bool, pc, next uint64) {
	if m.arch.LR != cpu.NoReg || !known {
		m.exec(st, in, pc)
		return
	}
	c := an.callee(target)
	if c.pc != cpu.NoReg {
		m.assign(st, c.pc, constant(int64(next)), pc)
		return
	}
	m.exec(st, in, pc)
	st.set(m.arch.SP, st.get(m.arch.SP).plus(c.pops), m.arch)
}

// readsPC tells whether the function at a place does nothing but load its return
// address into a register.
func readsPC(img *image.Image, at jump) (cpu.Reg, bool) {
	var buf [2]cpu.Insn
	arch := img.Arch
	n := arch.Decoder.Decode(img.Code(at.to), at.to, at.mode, buf[:])
	load := &buf[0]
	ok := n == 2 && load.Op == cpu.OpLoad && load.Base == arch.SP && load.Index == cpu.NoReg && load.Imm == 0 && load.WB == 0 &&
		int(load.Size) == arch.AddrSize && buf[1].Op == cpu.OpReturn && buf[1].Imm == 0
	return load.Dst, ok
}

// thunk is the register into which a direct call reads the PC.
func (m *machine) thunk(in *cpu.Insn) (cpu.Reg, bool) {
	if m.arch.LR != cpu.NoReg || in.Op != cpu.OpCall || in.Target == 0 {
		return cpu.NoReg, false
	}
	return readsPC(m.img, jump{in.Target, in.TargetMode})
}

// target is where a call or jump goes, if that is one known place.
func (m *machine) target(st *state, in *cpu.Insn) (jump, bool) {
	if in.Flags&cpu.FlagTable != 0 {
		return jump{}, false
	}
	v := value{}
	switch {
	case in.Flags&cpu.FlagMemory != 0:
		at := m.operand(st, in)
		load := cpu.Insn{Size: uint8(m.arch.AddrSize)}
		v = m.loaded(st, at, &load)
	case in.Src != cpu.NoReg && in.Target == 0:
		v = m.register(st, in)
	default:
		return jump{in.Target, in.TargetMode}, true
	}
	return m.place(v)
}

// register is where a transfer through a register goes; through PC it means that
// no register holds the target.
func (m *machine) register(st *state, in *cpu.Insn) value {
	if in.Src == m.arch.PC {
		return value{}
	}
	return st.get(in.Src).plus(in.Imm)
}

// place is the code address that a constant stands for.
func (m *machine) place(v value) (jump, bool) {
	if v.kind != konst {
		return jump{}, false
	}
	a, mode := m.arch.SplitCode(uint64(v.off))
	if m.img.Code(a) == nil {
		return jump{}, false
	}
	return jump{a, mode}, true
}

// jump follows a jump or the taken side of a branch.
func (f *function) jump(b *block, st *state, in *cpu.Insn, pc uint64) {
	if in.Flags&(cpu.FlagTable|cpu.FlagMemory) != 0 || in.Src != cpu.NoReg && in.Target == 0 {
		f.indirect(b, st, in, pc)
		return
	}
	f.jumpTo(st, jump{in.Target, in.TargetMode})
}

// jumpTo follows a jump to a known place: a tail call where the frame is gone and
// a function begins there, else a part of this function, however far away
// (.text.unlikely).
func (f *function) jumpTo(st *state, to jump) {
	if to.to != f.entry && f.frameGone(st) && f.an.isEntry(to.to, to.mode) {
		f.balanced = f.balanced || f.restored(st)
		f.tail(to)
		return
	}
	f.flow(to, st, edgeJump, 0)
}

func (f *function) tail(to jump) {
	for _, t := range f.tails {
		if t == to {
			return
		}
	}
	f.tails = append(f.tails, to)
	f.returns = true
}

// restored tells whether the function saved the return address or a preserved
// register, so that having them back is evidence that a frame was undone.
func (m *machine) restored(st *state) bool {
	for i := range st.slots {
		v := st.slots[i].val
		if r := cpu.Reg(v.base); v.kind == addr && v.off == 0 && (r == m.arch.LR || m.arch.Preserved.Has(r)) {
			return true
		}
	}
	return false
}

// foreign tells whether a stack pointer comes from memory or from an argument:
// longjmp, setcontext, a switch of stacks.
func (m *machine) foreign(sp value) bool {
	return sp.kind == contents || sp.kind == otherStack || sp.kind == addr && sp.base != base(m.arch.SP) && sp.base < firstSymbol
}

// switched tells whether SP is another stack than the caller's. The caller's frame
// pointer is none: Clang outlines ends of functions (mov sp,x29; ldp …; ret).
func (m *machine) switched(sp value) bool {
	return m.foreign(sp) && !(sp.kind == addr && sp.base == base(m.arch.FP))
}

// frameGone tells whether SP and the return address are as on entry.
func (f *function) frameGone(st *state) bool {
	return st.regs[f.arch.SP].isStart(f.arch.SP) && (f.arch.LR == cpu.NoReg || st.regs[f.arch.LR].isStart(f.arch.LR))
}

// indirect follows a jump through a register or memory: a jump table, a tail call
// through a pointer, a computed goto, or a context switch.
func (f *function) indirect(b *block, st *state, in *cpu.Insn, pc uint64) {
	if in.Flags&cpu.FlagTable != 0 {
		f.tableJump(b, st, in)
		return
	}
	v := f.register(st, in)
	if in.Flags&cpu.FlagMemory != 0 {
		load := cpu.Insn{Size: uint8(f.arch.AddrSize), Flags: cpu.FlagMemory}
		at := f.operand(st, in)
		if v = f.loaded(st, at, &load); at.kind == konst && v.kind != konst && v.kind != table {
			f.leaveByPointer(st) // one word, not in the image, as of a PLT: labels come out of tables
			return
		}
	}
	f.leaveVia(b, st, v, in)
}

// leaveByPointer ends at a jump through a pointer, whatever SP is there: a tail call
// where the frame is gone, which it reports; a PLT's first entry pushes a word for the
// resolver.
func (f *function) leaveByPointer(st *state) (gone bool) {
	f.complete, gone = false, f.frameGone(st)
	f.returns = f.returns || gone
	return gone
}

// leaveVia follows control to the place that v stands for.
func (f *function) leaveVia(b *block, st *state, v value, in *cpu.Insn) {
	sp := st.regs[f.arch.SP]
	switch {
	case in.Flags&cpu.FlagException != 0:
	case v == f.link():
		f.returns = true
		if sp.isStart(f.arch.SP) {
			f.balanced = true
		} else {
			f.unbalanced = true
		}
		if in.Op == cpu.OpReturn && in.Src == cpu.NoReg {
			f.popped = in.Imm
		}
	case v.kind == konst:
		to, ok := f.place(v)
		if ok {
			f.jumpTo(st, to)
		}
		if !ok || v.base == stored {
			f.complete = false
		}
	case v.kind == table:
		f.followTable(b, st, int(v.off))
	case f.foreign(sp):
		f.complete = false
	case in.Op == cpu.OpJump || f.frameGone(st):
		f.through(b, st)
	default:
		// Lost track of where the return address is.
		f.returns, f.unbalanced, f.complete = true, true, false
		f.overran(b, sp)
	}
}

// through notes a jump through a pointer: a tail call where the frame is gone.
func (f *function) through(b *block, st *state) {
	if !f.leaveByPointer(st) {
		f.unresolved(b, st)
	}
}

// overran looks for the call at which the function ended, when a path returns with a
// frame that is still there: a call that never returns, and nothing said so (a libc's
// message function that aborts if its first argument says so). What stands behind it
// is another function, which returns with SP where it began with it. Where jumps are
// guessed it may as well be a guess that led into another function.
func (f *function) overran(b *block, sp value) {
	if f.gotos > 0 || sp.kind != addr || sp.base != base(f.arch.SP) || sp.off >= 0 {
		return
	}
	_, i := f.at(b.start)
	for ; i >= 0; i-- {
		if c := f.blocks[i]; c.via == edgeCall && c.in.regs[f.arch.SP] == sp {
			f.dead[c.afterCall], f.again = true, true
			return
		}
	}
}
