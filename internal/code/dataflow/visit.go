package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// visit executes a block from its in-state to its transfer, or into the block that
// follows.
func (e *explorer) visit(b *block) {
	e.block = b
	b.in.Decode(&e.st)
	framed := framed(&e.st, e.an.Arch)
	e.cursor.Seek(b.addr())
	limit := e.graph.blocks.nextStart(b)
	calledLR := b.via == edgeCall // LR holds what the call before left there
	filler := b.via == edgeCall   // nothing else stood behind the call
	for pc := b.start; ; {
		if filler && pc != b.start && e.an.Entries.IsEntry(disasm.Addr{PC: pc, Mode: b.mode}) {
			b.end = pc
			return // the call never returns: a function begins where the next one is aligned to
		}
		if pc != b.start && pc >= limit {
			b.end = pc
			e.graph.fallInto(disasm.Addr{PC: pc, Mode: b.mode}, &e.st, b, filler)
			return
		}
		in := e.cursor.Next(pc)
		if in == nil {
			b.end, e.Complete = max(b.end, pc), false
			return
		}
		if e.steps++; e.steps > maxSteps {
			e.Complete = false
			return
		}
		if calledLR && disasm.SavesLR(in, e.an.Arch) && framed {
			e.graph.restart(b.afterCall)
			return
		}
		calledLR = calledLR && !in.Writes(e.an.Arch.LR)
		filler = filler && in.Flags&cpu.FlagPadding != 0
		e.note(b, &e.st, in)
		if in.Flags&cpu.FlagConditional != 0 && !disasm.Transfers(in, e.an.Arch) && e.conditionalRun(pc) {
			return
		}
		in = e.cursor.Last()
		if disasm.Transfers(in, e.an.Arch) {
			e.end(e.cursor.Step(in, pc), pc, &e.st)
			return
		}
		e.m.Exec(&e.st, in, pc)
		pc += uint64(in.Len)
	}
}

// end ends the visited block with the transfer at pc.
func (e *explorer) end(step stepping.Step, pc uint64, taken *absint.State) {
	t := transfer{Step: step, start: e.block.start, pc: pc, mode: e.block.mode}
	e.Complete = e.Complete && !t.Cut
	e.block.end = t.Next
	t.follow(e.m, &e.st, taken, e)
}

// conditionalRun executes a run of conditional instructions from pc on that a conditional
// transfer ends (addne sp,#12; popne {r4,pc}); false where there is no such run. MIPS's conditional moves are
// none: they compare a register of their own with 0, whatever the branch behind them compares.
func (e *explorer) conditionalRun(pc uint64) bool {
	arch := e.an.Arch
	run := e.cursor.Ahead(pc)
	n := untilTransfer(run, arch)
	if n == len(run) || run[n].Flags&cpu.FlagConditional == 0 {
		return false
	}
	at := pc
	for i := range n {
		at += uint64(run[i].Len)
	}
	last := stepping.StepOf(run[n:], at)
	if last.Waits() {
		return false
	}
	e.taken.CopyFrom(&e.st)
	for i := range n {
		e.m.Effect(&e.taken, &run[i], pc)
		pc += uint64(run[i].Len)
	}
	e.st.JoinUntaken(&e.taken, arch.SP)
	e.end(last, at, &e.taken)
	return true
}

// untilTransfer is how many instructions stand before the first one that is a transfer or
// not conditional.
func untilTransfer(run []cpu.Insn, arch *cpu.Arch) int {
	for i := range run {
		if run[i].Flags&cpu.FlagConditional == 0 || disasm.Transfers(&run[i], arch) {
			return i
		}
	}
	return len(run)
}

// atOnce is how near to its beginning a landing pad uses what it was left, in bytes.
const atOnce = 32

// note notes what an instruction of a block says about the function's beginning.
func (e *explorer) note(b *block, st *absint.State, in *cpu.Insn) {
	arch := e.an.Arch
	if disasm.IsLiteral(in) && e.an.Has(uint64(in.Imm)) {
		e.data[uint64(in.Imm)] = uint64(in.Size)
	}
	if st.ReadsPreserved(in, arch) {
		e.ReadsPreserved = true
		e.LandingPad = e.LandingPad || b.via <= edgeJump && b.start-e.Entry.PC < atOnce
	}
	link := e.an.conv.link
	if link == cpu.NoReg {
		return
	}
	e.SavesRA = e.SavesRA || disasm.SavesLR(in, arch) && st.Regs[link].IsStartOf(link)
	if in.Op == cpu.OpConst && in.Imm == 0 && in.Dst == link && b.start == e.Entry.PC && !st.FrameRestored(arch) {
		e.ClearsRA = true
	}
}

// framed tells whether the function has begun its work in a state. Behind a call that
// never returns stands another function, which saves the return address; nobody saves one
// that a call has just overwritten:
//
//	push {r4, lr}      f
//	bl   abort
//	push {r4, r5, lr}  g
//
// Compilers call mcount before anything else is saved, and mcount gives LR back as it was
// (mov x9,x30; bl ftrace_caller; move at,ra; jal _mcount).
func framed(st *absint.State, arch *cpu.Arch) bool {
	sp := st.Regs[arch.SP]
	return st.Saved(arch.Preserved) || sp.RelativeTo(arch.SP) && sp.Off < -8
}
