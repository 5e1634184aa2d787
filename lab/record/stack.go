package record

import (
	"github.com/backsight/backsight/cpu"
)

// entry is one activation of the shadow stack.
type entry struct {
	// ret is where it returns to, mode bit removed: behind its call, or (signal)
	// the interrupted instruction.
	ret uint64
	// cfa is SP in the caller at the call; of a signal, SP when it came.
	cfa uint64
	// start is where the call went.
	start uint64
	// signal: not a call but what the kernel put on the stack.
	signal bool
	// framed: the activation has had its frame set up.
	framed bool
}

// shadow keeps the true call chain while a program is stepped. It knows calls by
// the instruction that was executed and by the return address that it left, returns
// by arriving at one with SP back; nothing is inferred from the stack's contents.
type shadow struct {
	arch    *cpu.Arch
	entries []entry
	// known are all return addresses so far: a longjmp lands behind a setjmp.
	known map[uint64]bool
	// function is where the function begins that has pc, 0 if that is not known.
	function func(pc uint64) uint64
}

// moment is the machine between two instructions.
type moment struct {
	pc   uint64
	mode cpu.Mode
	sp   uint64
	lr   uint64
	insn cpu.Insn
	// next is the address behind the instruction and its delay slot.
	next uint64
	// slot: pc is the delay slot of insn, which has begun.
	slot bool
}

// left is the return address that a call made by m leaves: in LR, or at SP.
func (s *shadow) left(now *moment, word func(addr uint64) uint64) uint64 {
	if !s.arch.CallPushesRA {
		a, _ := s.arch.SplitCode(now.lr)
		return a
	}
	return word(now.sp)
}

// step moves the shadow stack from one moment to the next.
func (s *shadow) step(was, now *moment, word func(addr uint64) uint64) {
	switch {
	case was.insn.Op == cpu.OpCall && was.insn.Flags&cpu.FlagGetPC == 0 && now.pc != was.next:
		s.call(was, now, word)
	case transfers(s.arch, &was.insn):
		s.land(now, s.unwound(was, now))
	}
}

// unwound tells whether an indirect jump goes into the middle of another function, as
// none but exception handling does: to a landing pad.
func (s *shadow) unwound(was, now *moment) bool {
	if was.insn.Op == cpu.OpJump && was.insn.Target != 0 || s.function == nil {
		return false
	}
	f := s.function(now.pc)
	return f != 0 && f != now.pc && f != s.function(was.pc)
}

func (s *shadow) call(was, now *moment, word func(addr uint64) uint64) {
	if s.left(now, word) != was.next {
		// Taken by another register (RISC-V's t0 for __riscv_save_N), or a branch
		// and link that was not taken.
		return
	}
	if s.known == nil {
		s.known = map[uint64]bool{}
	}
	s.known[was.next] = true
	s.entries = append(s.entries, entry{ret: was.next, cfa: now.sp + uint64(s.arch.EntryCFA), start: now.pc})
}

// land removes what a return, or a longjmp, has left.
func (s *shadow) land(now *moment, unwound bool) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		e := &s.entries[i]
		if e.cfa > now.sp {
			break
		}
		if e.ret == now.pc && (!e.signal || s.arch.ModeOnly) { // EXC_RETURN resumes in the middle of a function
			s.entries = s.entries[:i]
			return
		}
	}
	for n := len(s.entries); n > 0 && s.gone(&s.entries[n-1], now, unwound); n-- {
		s.entries = s.entries[:n-1]
	}
}

// gone tells whether SP says that an activation is over. Where the call pushes no
// return address, a function without a frame runs with SP at its CFA; but it does
// not jump to where calls return, so that this is a longjmp, nor to a landing pad.
func (s *shadow) gone(e *entry, now *moment, unwound bool) bool {
	if s.arch.EntryCFA != 0 || s.known[now.pc] || unwound {
		return e.cfa <= now.sp
	}
	return e.cfa < now.sp
}

// trampoline is how many bytes of code a signal trampoline has at most.
const trampoline = 32

// sigreturn removes the signal whose trampoline made the system call of was, and
// tells where it resumes.
func (s *shadow) sigreturn(was *moment) (resumed entry, ok bool) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if e := s.entries[i]; e.signal && was.pc-e.start < trampoline {
			s.entries = s.entries[:i]
			return e, true
		}
	}
	return entry{}, false
}

// deliver puts a signal and its handler on top.
func (s *shadow) deliver(was, now *moment, word func(addr uint64) uint64) {
	s.entries = append(s.entries,
		entry{ret: was.pc, cfa: was.sp, signal: true, start: s.left(now, word)},
		entry{ret: s.left(now, word), cfa: now.sp + uint64(s.arch.EntryCFA), start: now.pc})
}

// exceptionReturn is the least EXC_RETURN value (ARMv7-M B1.5.8).
const exceptionReturn = 0xffff_ffe0

// except puts the exception of a Cortex-M on top: the hardware has pushed eight
// words, the PC among them at offset 24.
func (s *shadow) except(now *moment, word func(addr uint64) uint64) {
	s.entries = append(s.entries,
		entry{ret: word(now.sp+24) &^ 1, cfa: now.sp, signal: true, start: now.lr},
		entry{ret: now.lr, cfa: now.sp, start: now.pc})
}

func transfers(arch *cpu.Arch, in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpJump, cpu.OpReturn, cpu.OpCall:
		return true
	case cpu.OpLoad:
		return in.Dst == arch.PC
	case cpu.OpLoadMulti:
		return in.List.Has(arch.PC) || in.Flags&cpu.FlagReturn != 0
	case cpu.OpMove, cpu.OpAdd, cpu.OpClobber:
		return in.Dst == arch.PC || in.List.Has(arch.PC)
	}
	return false
}
