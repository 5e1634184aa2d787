package dataflow

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/disasm"
)

// goesOn implements successors.
func (e *explorer) goesOn(st *absint.State, t *transfer) {
	e.graph.propagate(t.behind(), st, edgeJump, 0)
}

// calls implements successors: it goes on behind a call that returns.
func (e *explorer) calls(st *absint.State, t *transfer) {
	target, known := e.m.Target(st, t.In)
	if known && t.millicode(e.an.Arch) {
		st.Set(t.In.Dst, absint.Const(int64(t.Next)), e.an.Arch)
		e.graph.propagate(target, st, edgeJump, 0)
		return
	}
	if disasm.IndirectCall(t.In) {
		e.noteTarget(st, t, target, known)
	}
	e.noteCall(st, &e.an.conv, known && disasm.ReadsPC(e.an.Code, target))
	if e.graph.noReturn[t.pc] || e.an.Entries.EndsBehind(t.pc, t.behind()) {
		noteLastCall(e, st, t, target, known)
		return
	}
	if e.an.Callees.CallNeverReturns(e.m, st, t.In, target, known) {
		e.graph.noReturn[t.pc] = true
		noteLastCall(e, st, t, target, known)
		return
	}
	e.an.applyCall(e.m, st, t, target, known)
	if !known || !disasm.ReadsPC(e.an.Code, target) {
		e.noteBehindCall(st)
	}
	e.graph.propagate(t.behind(), st, edgeCall, t.pc)
}

// noteTarget notes where an indirect call goes. A constant outside this image's code is another module's function: modules
// of Linux for MIPS call the kernel so (-mlong-calls).
func (e *explorer) noteTarget(st *absint.State, t *transfer, target disasm.Addr, known bool) {
	v := st.RegisterTarget(t.In, e.an.Arch)
	if !known && t.In.Flags&cpu.FlagMemory == 0 && v.Kind == absint.Constant && v.Base != absint.FromWritable {
		target.PC, target.Mode = e.an.Arch.SplitCode(uint64(v.Off) & e.an.Arch.AddrMask())
		known = true
	}
	e.targets.note(t.pc, target, known)
}

// noteCall notes with which stack a function calls that is at a state; reads: the call only reads the PC.
func (f *Facts) noteCall(st *absint.State, conv *convention, reads bool) {
	f.Calls = true
	arch := conv.arch
	sp := st.Regs[arch.SP]
	switch {
	case !conv.pushes():
	case arch.AddrSize == 8:
		f.CallsBare = f.CallsBare || sp.IsStartOf(arch.SP)
	case sp.RelativeTo(arch.SP) && !reads:
		f.CallsAt[uint64(sp.Off)%16/4]++
	}
}

// noteLastCall notes a call that never returns, and what holds behind that, as far as no call is known that
// does.
func noteLastCall(e *explorer, st *absint.State, t *transfer, target disasm.Addr, known bool) {
	e.Resumes = e.Resumes || known && callee.ResumesUnwinding(e.an.Callees, target)
	if e.BehindCalls != "" {
		return
	}
	e.an.applyCall(e.m, st, t, target, known)
	if e.AtLastCalls == "" {
		e.AtLastCalls = e.graph.states.keep(st)
		e.behind.CopyFrom(st)
	} else if e.behind.Join(st) {
		e.AtLastCalls = e.graph.states.keep(&e.behind)
	}
}

func (e *explorer) noteBehindCall(st *absint.State) {
	if e.BehindCalls == "" {
		e.BehindCalls = e.graph.states.keep(st)
		e.behind.CopyFrom(st)
	} else if e.behind.Join(st) {
		e.BehindCalls = e.graph.states.keep(&e.behind)
	}
}

// jumps implements successors: a direct jump, a jump table, a tail call through a pointer,
// a computed goto, or a context switch.
func (e *explorer) jumps(st *absint.State, t *transfer) {
	in := t.In
	switch {
	case !disasm.IndirectJump(in):
		e.jumpTo(st, disasm.Target(in))
	case in.Flags&cpu.FlagTable != 0:
		e.tableJump(st, in)
	case in.Flags&cpu.FlagMemory != 0:
		at := st.Operand(in)
		v := e.m.LoadedTarget(st, at)
		if at.Kind == absint.Constant && v.Kind != absint.Constant && v.Kind != absint.TableElement {
			e.leaveByPointer(st) // one word, not in the image, as of a PLT: labels come out of tables
			return
		}
		e.returns(st, v, t)
	default:
		e.returns(st, st.RegisterTarget(in, e.an.Arch), t)
	}
}

// jumpTo follows a jump to a known place: a tail call where the frame is gone and a
// function begins there, else a part of this function, however far away (.text.unlikely).
func (e *explorer) jumpTo(st *absint.State, to disasm.Addr) {
	gone := to.PC != e.Entry.PC && st.FrameGone(e.an.Arch)
	switch {
	case gone && (e.an.stubOutside(e.Entry, to) || e.an.Entries.IsEntry(to)):
		e.Balanced = e.Balanced || st.FrameRestored(e.an.Arch)
		if !slices.Contains(e.Tails, to) {
			e.Tails = append(e.Tails, to)
			e.Returns = true
		}
		return
	case gone && st.FrameRestored(e.an.Arch) && !slices.Contains(e.undone, to.PC):
		e.undone = append(e.undone, to.PC)
	}
	e.graph.propagate(to, st, edgeJump, 0)
}

// stubOutside tells whether a PLT stub, which no call need name as an entry, stands at a place outside the
// function at entry: libcrypto calls malloc by the jump at the end of CRYPTO_malloc alone. MIPS has stubs that
// bind lazily: libstdc++'s operator delete ends in a jump to that of free.
func (an *Analysis) stubOutside(entry, to disasm.Addr) bool {
	_, ok := an.Callees.StubSlot(to)
	return (ok || an.Callees.BindsLazily(to)) && (to.PC < entry.PC || to.PC >= an.Entries.Next(entry.PC, entry.PC))
}

// returns implements successors: control goes to the address that v stands for.
func (e *explorer) returns(st *absint.State, v absint.Value, t *transfer) {
	sp := st.Regs[e.an.Arch.SP]
	e.outwards.note(sp, t.pc)
	switch {
	case t.In.Flags&cpu.FlagException != 0:
	case v == absint.CallerPC(e.an.Arch), v == e.an.conv.ra && e.an.conv.popped(sp):
		e.Returns = true
		if sp.IsStartOf(e.an.Arch.SP) || e.an.conv.popped(sp) {
			e.Balanced = true
		} else {
			e.Unbalanced = true
		}
	case v.Kind == absint.Constant:
		to, ok := e.m.CodeAt(v)
		switch {
		case ok && to == t.behind(): // a PLT stub, before its import is bound
			e.graph.propagate(to, st, edgeJump, 0)
		case ok:
			e.jumpTo(st, to)
		}
		e.Complete = e.Complete && ok
		e.byWritable = e.byWritable || v.Base == absint.FromWritable
	case v.Kind == absint.TableElement:
		e.followTable(st, e.m.JumpTables.Table(v))
	case absint.Foreign(sp, e.an.Arch):
		e.Complete = false
	case e.graph.resolves(st, v, t):
		e.Returns, e.Balanced, e.Complete = true, true, false
	case e.an.conv.pushes() && disasm.Retpoline(e.an.Code, disasm.Addr{PC: t.start}):
		st.Set(e.an.Arch.SP, sp.Plus(int64(e.an.Arch.RegSize)), e.an.Arch)
		e.leaveByUnknown(st)
	case t.In.Op == cpu.OpJump || st.FrameGone(e.an.Arch):
		e.framed.noteFramed(st, t, e.an.Arch)
		e.leaveByUnknown(st)
	default:
		// Lost track of where the return address is.
		e.Returns, e.Unbalanced, e.Complete = true, true, false
		if e.gaps.jumps == 0 { // where jumps are guessed, a guess may have led into another function
			e.graph.overran(e.block, sp)
		}
	}
}

// leaveByPointer ends at a jump through a pointer, whatever SP is there: a tail call where
// the frame is gone, which it reports; a PLT's first entry pushes a word for the resolver.
func (e *explorer) leaveByPointer(st *absint.State) (gone bool) {
	e.Complete, gone = false, st.FrameGone(e.an.Arch)
	e.Returns, e.LeavesByPointer = e.Returns || gone, e.LeavesByPointer || gone
	return gone
}

// leaveByUnknown notes a jump to an unknown place: a tail call where the frame is gone,
// else a jump within the function.
func (e *explorer) leaveByUnknown(st *absint.State) {
	if !e.leaveByPointer(st) {
		e.unresolved(st)
	}
}

// MayHaveLeft tells whether an address is in code that lies apart from that around f's entry, and that f
// comes to by a jump with its frame undone: though no function is known to begin where that jump goes, one
// may. In a stripped cmake for ARM, the function at 0xb40a4 ends so in a jump to 0xb1dc8, which others call.
func MayHaveLeft(f *Function, pc uint64) bool {
	if len(f.undone) == 0 {
		return false
	}
	end := EndFrom(f, f.Entry.PC)
	apart := func(at uint64) bool { return at < f.Entry.PC || at >= end }
	to, some := uint64(0), false // the nearest at or below pc: a run from any other would go on there
	for _, at := range f.undone {
		if at <= pc && at >= to && apart(at) {
			to, some = at, true
		}
	}
	return some && apart(pc) && pc < EndFrom(f, to)
}

// maxFramed bounds the jumps of a function to unknown places: an interpreter has one for each kind of instruction, all
// with the same frame.
const maxFramed = 4

// noteFramed keeps the place of a jump that is made with the frame in place.
func (p *places) noteFramed(st *absint.State, t *transfer, arch *cpu.Arch) {
	if sp := st.Regs[arch.SP]; sp.RelativeTo(arch.SP) && sp.Off < 0 && len(*p) < maxFramed && !slices.Contains(*p, t.pc) {
		*p = append(*p, t.pc)
	}
}

// AtFramedJumps calls each for the states at the jumps of f to unknown places that leave its frame in place.
func AtFramedJumps(f *Function, each func(st *absint.State)) {
	var st absint.State
	for _, pc := range f.framed {
		if b, _ := f.blocks.at(pc); b != nil && StateAtCall(f, disasm.Addr{PC: pc, Mode: b.mode}, &st) {
			each(&st)
		}
	}
}
