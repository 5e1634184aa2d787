package discover

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxStart bounds the instructions that are executed from the image's entry point on.
const maxStart = 64

// handedOn are the functions whose addresses the code at the image's entry point hands to the
// first function that it calls: main, and in older programs what runs before and after it.
//
//	lea  main(%rip),%rdi          ldr r0,[pc,#16]; ldr r0,[sl,r0]      lw a0,-32744(gp)
//	call *__libc_start_main(…)    bl  __libc_start_main                jalr t9
//
// The C library calls main through that pointer, so that no call names main. A first call that
// is handed no function is followed: musl's _start calls _start_c, which hands main on.
func handedOn(code disasm.Code) keys {
	at, ok := code.Pointer(code.Img.Entry)
	if !ok || code.Img.Entry == 0 {
		return nil
	}
	s := start{code: code, interp: absint.New(code), left: maxStart}
	s.state.Start(code.Arch)
	for set := code.Arch.SelfRegs; set != 0; set = set.Without(set.First()) {
		s.state.Set(set.First(), absint.Const(absint.Signed(at.PC, code.Arch)), code.Arch)
	}
	for ok && s.left > 0 {
		at, ok = s.follow(at)
	}
	return sorted(s.found)
}

// start executes the code at an image's entry point.
type start struct {
	code   disasm.Code
	interp absint.Interp
	state  absint.State
	left   int  // instructions
	found  keys // not sorted
	behind keys // where the calls on the way return to; at most maxStart
}

// follow executes the instruction at a place, with its delay slot, and tells where control goes
// on; false where the search ends.
func (s *start) follow(at disasm.Addr) (next disasm.Addr, ok bool) {
	var buf [2]cpu.Insn
	step, ok := disasm.StepAt(s.code, at, &buf)
	s.left--
	if !ok {
		return at, false
	}
	in := step.In
	if !disasm.Transfers(in, s.code.Arch) {
		s.interp.Exec(&s.state, in, at.PC)
		return disasm.Addr{PC: at.PC + uint64(in.Len), Mode: at.Mode}, true
	}
	to := s.target(in)
	if step.Slot != nil {
		s.interp.Exec(&s.state, step.Slot, at.PC+uint64(in.Len))
	}
	next = disasm.Addr{PC: step.Next, Mode: at.Mode}
	if in.Op == cpu.OpCall {
		if r, thunk := disasm.PCThunk(s.code, disasm.Target(in)); thunk {
			s.state.Set(r, absint.Const(absint.Signed(next.PC, s.code.Arch)), s.code.Arch)
			return next, true
		}
		s.handed()
		if lr := s.code.Arch.LR; lr != cpu.NoReg {
			s.state.Set(lr, absint.Const(absint.Signed(next.Key(), s.code.Arch)), s.code.Arch)
			s.behind = append(s.behind, next.Key())
		}
	}
	return to, in.Op != cpu.OpReturn && in.Flags&(cpu.FlagConditional|cpu.FlagTable|cpu.FlagMemory) == 0 &&
		to.PC != 0 && len(s.found) == 0
}

// target is where a transfer goes: a call through a register is known if the value is. musl's start for
// MIPS reads words behind a call, relative to where the call returns to, and calls _start_c so.
func (s *start) target(in *cpu.Insn) disasm.Addr {
	if in.Src == cpu.NoReg || in.Op != cpu.OpCall {
		return disasm.Target(in)
	}
	to := s.state.Regs[in.Src]
	if to.Kind != absint.Constant {
		return disasm.Addr{}
	}
	at, _ := s.code.Pointer(uint64(to.Off) & s.code.Arch.AddrMask())
	return at
}

// handed notes the functions whose addresses the callee is handed, in registers or on the stack.
func (s *start) handed() {
	arch := s.code.Arch
	kept := arch.Preserved | arch.Globals | arch.SelfRegs
	for r := range arch.Regs {
		if reg := cpu.Reg(r); !kept.Has(reg) && reg != arch.LR && reg != arch.PC {
			s.note(s.state.Regs[r])
		}
	}
	for i := range s.state.Slots {
		s.note(s.state.Slots[i].Val)
	}
}

// note notes a value that is the address of a function, and no saved return address. Where a lone jump stands
// there, the function that the jump leads to is noted, too: aarch64's _start has such a jump to main near by,
// where the linker may place main far off.
func (s *start) note(v absint.Value) {
	if v.Kind != absint.Constant || v.Off == 0 {
		return
	}
	at, ok := s.code.Pointer(uint64(v.Off) & s.code.Arch.AddrMask())
	if !ok || at.PC&(s.code.Arch.InsnAlign-1) != 0 || slices.Contains(s.behind, at.Key()) {
		return
	}
	s.found = append(s.found, at.Key())
	var buf [2]cpu.Insn
	n := s.code.Decode(at, buf[:])
	for i := range n {
		switch in := &buf[i]; {
		case in.Op == cpu.OpJump && in.Flags&(cpu.FlagConditional|cpu.FlagTable|cpu.FlagMemory) == 0 && in.Target != 0:
			if to := disasm.Target(in); s.code.Has(to.PC) {
				s.found = append(s.found, to.Key())
			}
			return
		case in.Op != cpu.OpNop:
			return
		}
	}
}
