package disasm

import "github.com/backsight/backsight/cpu"

// Transfers tells whether an instruction ends a basic block: a jump, branch, call,
// return or trap. Calls that only read the PC (x86 call +0, MIPS bal .+8) do not.
func Transfers(in *cpu.Insn, arch *cpu.Arch) bool {
	switch in.Op {
	case cpu.OpJump, cpu.OpReturn, cpu.OpTrap:
		return true
	case cpu.OpCall:
		return in.Flags&cpu.FlagGetPC == 0
	case cpu.OpLoad:
		return in.Dst == arch.PC
	case cpu.OpLoadMulti:
		return in.List.Has(arch.PC) || in.Flags&cpu.FlagReturn != 0
	}
	return false
}

// IndirectJump tells whether a jump's target comes from a register, memory or a table.
func IndirectJump(in *cpu.Insn) bool {
	return in.Src != cpu.NoReg && in.Target == 0 || in.Flags&(cpu.FlagMemory|cpu.FlagTable) != 0
}

// IndirectCall tells whether a call's target comes from a register or memory.
func IndirectCall(in *cpu.Insn) bool { return in.Src != cpu.NoReg || in.Flags&cpu.FlagMemory != 0 }

// Target is where a direct transfer goes.
func Target(in *cpu.Insn) Addr { return Addr{in.Target, in.TargetMode} }

// IsLiteral tells whether an instruction loads a word at a fixed image address: a
// literal among the code (ldr r3,[pc,#8]).
func IsLiteral(in *cpu.Insn) bool {
	return in.Op == cpu.OpLoad && in.Base == cpu.NoReg && in.Index == cpu.NoReg
}

// SavesLR tells whether an instruction stores the link register to the stack.
func SavesLR(in *cpu.Insn, arch *cpu.Arch) bool {
	lr := arch.LR
	if lr == cpu.NoReg || in.Base != arch.SP {
		return false
	}
	return in.Op == cpu.OpStore && (in.Src == lr || in.Src2 == lr) || in.Op == cpu.OpStoreMulti && in.List.Has(lr)
}

// maxPrologue bounds the instructions that BeginsWith looks at.
const maxPrologue = 16

// BeginsWith tells whether code from a place on comes to an instruction of a kind before control goes anywhere.
func BeginsWith(c *Cursor, at Addr, is func(in *cpu.Insn, arch *cpu.Arch) bool) bool {
	c.Seek(at)
	for range maxPrologue {
		in := c.Next(at.PC)
		if in == nil || Transfers(in, c.code.Arch) {
			return false
		}
		if is(in, c.code.Arch) {
			return true
		}
		at.PC += uint64(in.Len)
	}
	return false
}

// LowersSP tells whether an instruction allocates stack, as far as the instruction by
// itself shows.
func LowersSP(in *cpu.Insn, arch *cpu.Arch) bool {
	sp := arch.SP
	switch in.Op {
	case cpu.OpAddImm:
		return in.Dst == sp && in.Src == sp && in.Imm < 0
	case cpu.OpSub:
		return in.Dst == sp && in.Src == sp
	case cpu.OpStore, cpu.OpStoreMulti:
		return in.Base == sp && in.WB < 0
	}
	return false
}
