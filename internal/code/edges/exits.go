package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Abandons implements stackwalk.CallGraph.
func (g *Graph) Abandons(q *stackwalk.Query) bool {
	if q.Arch.Decoder == nil || !q.HasEntry {
		return false
	}
	p := g.of(q.Image)
	at, ok := rules.PointOf(p.Code, q)
	return ok && p.Flows.Abandons(p.Flows.Function(disasm.Addr{PC: q.Entry, Mode: q.Mode}), at.Addr(), !at.Exact)
}

// LeavesException implements stackwalk.CallGraph.
func (g *Graph) LeavesException(m *target.Module, pc uint64, mode cpu.Mode) stackwalk.Answer {
	p, ok := g.in(m, pc, mode)
	if !ok {
		return stackwalk.Unknown
	}
	ways := p.Flows.ReturnPaths(p.at, false)
	n, comesBack := 0, false
	for _, w := range ways {
		if w.Exception {
			n++
		}
		comesBack = comesBack || !w.Exception && !w.Tail // arm64's entry code ends in b ret_to_kernel
	}
	switch {
	case n == len(ways) && n > 0:
		return stackwalk.Yes
	case n == 0 && comesBack:
		return stackwalk.No
	}
	return stackwalk.Unknown
}

// maxBefore is how many bytes of code in front of a place are looked at.
const maxBefore = 64

// BehindSyscall implements stackwalk.CallGraph.
func (g *Graph) BehindSyscall(m *target.Module, pc uint64, mode cpu.Mode) bool {
	p, ok := g.in(m, pc, mode)
	return ok && p.answer(question{kind: behindSyscall, at: p.at}, p.behindSyscall)
}

func (p place) behindSyscall() bool {
	last, _ := p.before()
	return last == cpu.OpSyscall
}

// before tells what the instruction in front of the place is, and whether the code there ends: none of it but filler leads on to the
// place. It decodes from the first address from which instructions lead there, so that the decoding has fallen into step on the way.
func (p place) before() (last cpu.Op, ends bool) {
	pc := p.at.PC
	var buf [maxBefore]cpu.Insn
	for from := pc - maxBefore; from < pc; from += max(p.Arch.InsnAlign, 1) {
		n, slot := p.Decode(disasm.Addr{PC: from, Mode: p.at.Mode}, buf[:]), false
		ends = false
		for i, at := 0, from; i < n && at < pc; i++ {
			in := &buf[i]
			if in.Flags&cpu.FlagPadding == 0 && !slot {
				ends = in.Ends(p.Arch.PC)
			}
			slot = in.Flags&cpu.FlagDelaySlot != 0
			if at += uint64(in.Len); at == pc {
				return in.Op, ends
			}
		}
	}
	return cpu.OpNop, false
}

// maxExit is how many instructions lead to the system call at most.
const maxExit = 8

// EndsThread implements stackwalk.CallGraph. A thread begins in a system call of glibc's clone,
// which made no frame on the new stack and calls the thread's function. What that function
// returns is the thread's exit status:
//
//	call *%rax
//	mov  %rax,%rdi      ◄─ pc
//	mov  $60,%eax
//	syscall
//
// A coroutine begins in no call at all. Whoever made its stack laid there, for the coroutine's function to return to, an address
// that nothing in front of leads to; see wakes.
func (g *Graph) EndsThread(m *target.Module, pc uint64, mode cpu.Mode) bool {
	p, ok := g.in(m, pc, mode)
	return ok && p.answer(question{kind: endsThread, at: p.at}, p.endsThread)
}

func (p place) endsThread() bool {
	from := p
	call, called := p.callBefore()
	if called {
		from.at.PC = inImage(p.m, call.Addr)
	}
	_, begins := from.before()
	begins = begins || p.Entries.IsEntry(from.at)
	if called {
		return begins && from.wakes() || p.exits()
	}
	return begins && p.Callees.NeverReturns(p.at) || p.wakes() && (begins || p.Entries.AddressTaken(p.at))
}

// wakes tells whether the code at the place takes up a value that it finds in a register which calls preserve. No function that is
// called does, but for saving the register. Such code is returned to, by a function that was not called from there: glibc's
// makecontext leaves in such registers what __start_context goes on with (sysdeps/unix/sysv/linux/*/__start_context.S).
//
//	x86-64   mov  %rbx,%rsp             AArch64  nop; mov x0,x19
//	i386     lea  (%esp,%ebx,4),%esp    MIPS     move gp,s1
//	RISC-V   jalr s1: the coroutine's function itself
func (p place) wakes() bool {
	var buf [maxExit]cpu.Insn
	kept := p.Arch.Preserved.Without(p.Arch.SP).Without(p.Arch.LR).Without(p.Arch.PC)
	for _, in := range buf[:p.Decode(p.at, buf[:])] {
		switch in.Op {
		case cpu.OpNop:
			continue
		case cpu.OpMove, cpu.OpAddImm, cpu.OpCall:
			return kept.Has(in.Src)
		case cpu.OpAdd:
			return kept.Has(in.Src) || kept.Has(in.Src2)
		}
		return false
	}
	return false
}

// exits tells whether the code at the place goes straight to the system call that ends the thread.
func (p place) exits() bool {
	var buf [maxExit]cpu.Insn
	at, exec := p.at, absint.New(p.Code)
	var st absint.State
	st.Start(p.Arch)
	insns := buf[:p.Decode(at, buf[:])]
	for i := range insns {
		in := &insns[i]
		if entersKernel(in, p.Arch) {
			exit := p.Arch.ThreadExit
			return st.Get(exit.Reg) == absint.Const(exit.Number) || i+1 < len(insns) && insns[i+1].Op == cpu.OpTrap
		}
		switch in.Op {
		case cpu.OpNop, cpu.OpConst, cpu.OpMove, cpu.OpAddImm, cpu.OpLoad, cpu.OpClobber:
			exec.Exec(&st, in, at.PC)
		default:
			return false
		}
		at.PC += uint64(in.Len)
	}
	return false
}

// entersKernel tells whether an instruction is a system call. On i386 that may be a call
// through the thread control block, whose address the decoder does not know (glibc,
// sysdeps/unix/sysv/linux/i386/sysdep.h, ENTER_KERNEL): call *%gs:0x10.
func entersKernel(in *cpu.Insn, arch *cpu.Arch) bool {
	if in.Op == cpu.OpCall {
		return arch.PCThunk && in.Flags&cpu.FlagMemory != 0 && in.Base == cpu.NoReg && in.Index == cpu.NoReg && in.Imm == 0
	}
	return in.Op == cpu.OpSyscall
}
