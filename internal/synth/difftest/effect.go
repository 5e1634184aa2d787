package difftest

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// Flow is the kind of a control transfer: call, jump, branch (conditional), return,
// trap; "" for every other instruction.
func Flow(in *cpu.Insn) string {
	switch in.Op {
	case cpu.OpCall:
		return "call"
	case cpu.OpJump:
		if in.Flags&cpu.FlagConditional != 0 {
			return "branch"
		}
		return "jump"
	case cpu.OpReturn:
		return "return"
	case cpu.OpTrap:
		return "trap"
	}
	return ""
}

// Written are the registers that an instruction's effect changes: results, clobbered
// registers, and a base that is written back.
func Written(in *cpu.Insn) cpu.RegSet {
	s := cpu.SetOf(in.Dst, in.Dst2)
	if in.Op == cpu.OpClobber || in.Op == cpu.OpLoadMulti {
		s |= in.List
	}
	if in.WB != 0 {
		s = s.With(in.Base)
	}
	return s
}

// Names lists registers, each with a blank in front.
func Names(a *cpu.Arch, s cpu.RegSet) string {
	var b strings.Builder
	for ; s != 0; s = s.Without(s.First()) {
		b.WriteString(" " + name(a, s.First()))
	}
	return b.String()
}

func name(a *cpu.Arch, r cpu.Reg) string {
	if r == cpu.NoReg {
		return "-"
	}
	return a.RegName(r)
}

// Formula writes an effect as tables of expected effects have it: sp = sp-16,
// 64[sp+8] = ra, jump 0x10008 conditional.
func Formula(a *cpu.Arch, in *cpu.Insn) string {
	s := formula(a, in) + flagNames(in.Flags)
	if in.WB != 0 {
		s += fmt.Sprintf("; %s%+d", name(a, in.Base), in.WB)
	}
	return s
}

func formula(a *cpu.Arch, in *cpu.Insn) string {
	dst, src := name(a, in.Dst), name(a, in.Src)
	switch in.Op {
	case cpu.OpNop:
		return "nop"
	case cpu.OpUnknown:
		return "unknown" + Names(a, in.List)
	case cpu.OpClobber:
		return "clobber" + Names(a, in.List)
	case cpu.OpLoad:
		return pair(a, in.Dst, in.Dst2) + " = " + operand(a, in)
	case cpu.OpAddLoad:
		return dst + " = " + src + " + " + operand(a, in)
	case cpu.OpStore:
		return operand(a, in) + " = " + pair(a, in.Src, in.Src2)
	case cpu.OpLoadMulti:
		return "{" + strings.TrimSpace(Names(a, in.List)) + "} = " + operand(a, in)
	case cpu.OpStoreMulti:
		return operand(a, in) + " = {" + strings.TrimSpace(Names(a, in.List)) + "}"
	case cpu.OpSyscall:
		return fmt.Sprintf("syscall %d%s", in.Imm, Names(a, in.List))
	case cpu.OpTrap:
		return "trap"
	case cpu.OpReturn:
		return "return " + src
	case cpu.OpCall, cpu.OpJump:
		return transfer(a, in)
	case cpu.OpCompareImm:
		if in.Dst == cpu.NoReg {
			return fmt.Sprintf("compare %s %d", src, in.Imm)
		}
		return fmt.Sprintf("%s = compare %s %d", dst, src, in.Imm)
	}
	return arithmetic(a, in, dst, src)
}

func arithmetic(a *cpu.Arch, in *cpu.Insn, dst, src string) string {
	switch in.Op {
	case cpu.OpConst:
		return fmt.Sprintf("%s = %#x", dst, uint64(in.Imm))
	case cpu.OpInsert:
		return fmt.Sprintf("%s[%d] = %#x", dst, in.Scale, in.Imm)
	case cpu.OpMove:
		return fmt.Sprintf("%s = %s", dst, src)
	case cpu.OpAddImm:
		return fmt.Sprintf("%s = %s%+d", dst, src, in.Imm)
	case cpu.OpAdd, cpu.OpSub:
		return fmt.Sprintf("%s = %s %c %s<<%d", dst, src, "+-"[in.Op-cpu.OpAdd], name(a, in.Src2), in.Scale)
	case cpu.OpOr:
		return fmt.Sprintf("%s = %s | %s", dst, src, name(a, in.Src2))
	case cpu.OpOrImm:
		return fmt.Sprintf("%s = %s | %#x", dst, src, uint64(in.Imm))
	case cpu.OpAndImm:
		return fmt.Sprintf("%s = %s & %#x", dst, src, uint64(in.Imm))
	case cpu.OpShlImm:
		return fmt.Sprintf("%s = %s << %d", dst, src, in.Imm)
	case cpu.OpShrImm:
		return fmt.Sprintf("%s = %s >> %d", dst, src, in.Imm)
	}
	return "?"
}

func transfer(a *cpu.Arch, in *cpu.Insn) string {
	s := "jump"
	if in.Op == cpu.OpCall {
		s = name(a, in.Dst) + " = call"
	}
	if in.Target != 0 {
		s += fmt.Sprintf(" %#x", in.Target)
	}
	if in.Src != cpu.NoReg {
		s += " " + pair(a, in.Src, in.Src2)
	}
	if in.Imm != 0 {
		s += fmt.Sprintf("%+d", in.Imm)
	}
	return s
}

func pair(a *cpu.Arch, first, second cpu.Reg) string {
	if second == cpu.NoReg {
		return name(a, first)
	}
	return name(a, first) + "," + name(a, second)
}

func operand(a *cpu.Arch, in *cpu.Insn) string {
	s := fmt.Sprintf("%d[%s%+d", 8*int(in.Size), name(a, in.Base), in.Imm)
	if in.Index != cpu.NoReg {
		s += fmt.Sprintf("+%s<<%d", name(a, in.Index), in.Scale)
	}
	return s + "]"
}

func flagNames(f cpu.Flags) string {
	var s strings.Builder
	for _, n := range []struct {
		flag cpu.Flags
		name string
	}{
		{cpu.FlagConditional, "conditional"}, {cpu.FlagMemory, "memory"}, {cpu.FlagException, "exception"},
		{cpu.FlagPadding, "padding"}, {cpu.FlagEntry, "entry"}, {cpu.FlagSigned, "signed"}, {cpu.FlagWord32, "w"},
		{cpu.FlagAddress, "address"}, {cpu.FlagReturn, "return"}, {cpu.FlagSign, "sign"}, {cpu.FlagFrameSetup, "frame"},
	} {
		if f&n.flag != 0 {
			s.WriteString(" " + n.name)
		}
	}
	return s.String()
}
