package callee

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// outcome is what an instruction does to the path that it lies on.
type outcome uint8

const (
	goesOn  outcome = iota
	forks           // the path goes on, and elsewhere too
	ends            // the path does not go on
	settles         // nor need others be followed
)

// endsUnless is the end of a path, unless the instruction is conditional.
func endsUnless(in *cpu.Insn) outcome {
	if in.Flags&cpu.FlagConditional != 0 {
		return goesOn
	}
	return ends
}

// leavesStack tells whether SP is a foreign stack behind an instruction, on a path as it is before: SP comes out of memory, or out
// of a register that nobody preserves and that was not computed from SP, as Microsoft's compilers do in an epilogue:
// lea r11,[rsp+592]; mov rbx,[r11+40]; mov rsp,r11.
//
// alloca moves such a register to SP as well, but its function leaves with SP computed
// from the frame pointer. A function of x86 that realigned its stack leaves by
// lea -4(%ecx),%esp: ecx is the CFA, and the return address lies in front of the CFA.
func (s *search) leavesStack(in *cpu.Insn, p *path) bool {
	arch, foreign := s.effects.code.Arch, p.foreign
	if in.Dst != arch.SP {
		return foreign
	}
	switch in.Op {
	case cpu.OpLoad:
		return in.Base != arch.SP && !p.copied.Has(in.Base)
	case cpu.OpMove, cpu.OpAddImm:
		if in.Src == arch.SP || p.copied.Has(in.Src) {
			return foreign && in.Src == arch.SP
		}
		toRA := arch.CallPushesRA && in.Op == cpu.OpAddImm && in.Imm == -int64(arch.AddrSize)
		return !toRA && !arch.Preserved.Has(in.Src) && in.Src != arch.FP
	}
	return foreign
}

// copiedBehind are the registers that hold addresses of the caller's stack behind an instruction, on a path as it is before. GnuTLS
// keeps SP in edx around the instructions of VIA's PadLock, for which edi gets the address of a copy below. Ada's functions keep SP in
// their frame around what makes room, and address the frame by its pointer.
func (s *search) copiedBehind(in *cpu.Insn, p *path) cpu.RegSet {
	arch := s.effects.code.Arch
	copied := p.copied.Without(in.Dst).Without(in.Dst2)
	if in.Op != cpu.OpStoreMulti {
		copied &^= in.List
	}
	switch {
	case in.Op == cpu.OpCall:
		return copied & arch.Preserved
	case p.foreign || in.Dst == arch.SP || in.Flags&cpu.FlagConditional != 0:
		return copied
	case (in.Op == cpu.OpMove || in.Op == cpu.OpAddImm) && in.Src == arch.SP:
		return copied.With(in.Dst)
	}
	return copied
}

// pushedBehind is how many bytes lie on the stack behind an instruction that were put there and not
// removed, where pushed tells of before. Where SP comes out of another register, most of that is gone.
func (s *search) pushedBehind(in *cpu.Insn, pushed int64) int64 {
	arch := s.effects.code.Arch
	by, known := movesSP(in, arch)
	switch {
	case in.Flags&cpu.FlagGetPC != 0 && arch.CallPushesRA: // call .+5
		return pushed + int64(arch.AddrSize)
	case known:
		return max(pushed-by, 0)
	case disasm.LowersSP(in, arch):
		return pushed + int64(arch.AddrSize)
	case in.Dst == arch.SP || in.Op == cpu.OpLeave:
		return 0
	}
	return pushed
}

// step looks at one instruction, which the path behind follows. What settles the search
// comes with the effect.
func (s *search) step(in *cpu.Insn, behind path) (Effect, outcome) {
	arch := s.effects.code.Arch
	switch in.Op {
	case cpu.OpReturn:
		if in.Flags&cpu.FlagException != 0 || behind.foreign {
			return never(), endsUnless(in)
		}
		return Returning(in), settles
	case cpu.OpTrap:
		return never(), endsUnless(in)
	case cpu.OpLoad, cpu.OpLoadMulti:
		if in.Op == cpu.OpLoad && in.Dst == arch.PC || in.Op == cpu.OpLoadMulti && in.List.Has(arch.PC) {
			return perhaps(), settles
		}
	case cpu.OpJump:
		return perhaps(), s.jump(in, behind)
	case cpu.OpCall:
		return never(), s.call(in, behind)
	}
	return never(), goesOn
}

// jump follows a jump. Where an indirect one goes nobody knows: that returns. What the
// return pops, the ways around the jump may tell: all returns of a function pop the same, as
// its caller cannot know which of them ran. i386's __divtf3 of libgcc jumps through a table
// before its first return, ret $4.
func (s *search) jump(in *cpu.Insn, behind path) outcome {
	if disasm.IndirectJump(in) {
		switch {
		case behind.foreign:
			return ends
		case !s.effects.pops:
			return settles
		}
		s.lost, s.framed = true, s.framed || behind.pushed > 0
		return ends
	}
	behind.at = disasm.Target(in)
	s.todo = append(s.todo, behind)
	if in.Flags&cpu.FlagConditional != 0 {
		return forks
	}
	return ends
}

// call leaves what is behind a call for later.
func (s *search) call(in *cpu.Insn, behind path) outcome {
	if in.Flags&cpu.FlagGetPC != 0 {
		return goesOn
	}
	if in.Flags&cpu.FlagConditional != 0 { // blne __stack_chk_fail
		return forks
	}
	if !s.effects.ReadsNoReturn(in) {
		s.calls = append(s.calls, call{disasm.Target(in), !disasm.IndirectCall(in), behind})
	}
	return ends
}
