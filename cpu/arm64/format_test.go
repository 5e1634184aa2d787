package arm64

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

func name(r cpu.Reg) string {
	if r == cpu.NoReg {
		return "-"
	}
	return Archs()[0].RegName(r)
}

// show writes an effect as a formula; tables of expected effects use it.
func show(in *cpu.Insn) string {
	s := effect(in) + flagNames(in.Flags)
	if in.WB != 0 {
		s += fmt.Sprintf("; %s%+d", name(in.Base), in.WB)
	}
	return s
}

func effect(in *cpu.Insn) string {
	dst, src := name(in.Dst), name(in.Src)
	switch in.Op {
	case cpu.OpNop:
		return "nop"
	case cpu.OpUnknown:
		return "unknown" + names(in.List)
	case cpu.OpClobber:
		return "clobber" + names(in.List)
	case cpu.OpConst:
		return fmt.Sprintf("%s = %#x", dst, uint64(in.Imm))
	case cpu.OpInsert:
		return fmt.Sprintf("%s[%d] = %#x", dst, in.Scale, in.Imm)
	case cpu.OpMove:
		return fmt.Sprintf("%s = %s", dst, src)
	case cpu.OpAddImm:
		return fmt.Sprintf("%s = %s%+d", dst, src, in.Imm)
	case cpu.OpAdd, cpu.OpSub:
		return fmt.Sprintf("%s = %s %c %s<<%d", dst, src, "+-"[in.Op-cpu.OpAdd], name(in.Src2), in.Scale)
	case cpu.OpOr:
		return fmt.Sprintf("%s = %s | %s", dst, src, name(in.Src2))
	case cpu.OpOrImm:
		return fmt.Sprintf("%s = %s | %#x", dst, src, uint64(in.Imm))
	case cpu.OpAndImm:
		return fmt.Sprintf("%s = %s & %#x", dst, src, uint64(in.Imm))
	case cpu.OpShlImm:
		return fmt.Sprintf("%s = %s << %d", dst, src, in.Imm)
	case cpu.OpCompareImm:
		return fmt.Sprintf("compare %s %d", src, in.Imm)
	case cpu.OpLoad:
		return fmt.Sprintf("%s = %s", pairOf(in.Dst, in.Dst2), place(in))
	case cpu.OpStore:
		return fmt.Sprintf("%s = %s", place(in), pairOf(in.Src, in.Src2))
	case cpu.OpSyscall:
		return fmt.Sprintf("syscall %d%s", in.Imm, names(in.List))
	case cpu.OpTrap:
		return "trap"
	case cpu.OpReturn:
		return "return " + src
	case cpu.OpCall, cpu.OpJump:
		return transfer(in)
	}
	return "?"
}

func transfer(in *cpu.Insn) string {
	s := "jump"
	if in.Op == cpu.OpCall {
		s = name(in.Dst) + " = call"
	}
	if in.Target != 0 {
		s += fmt.Sprintf(" %#x", in.Target)
	}
	if in.Src != cpu.NoReg {
		s += " " + pairOf(in.Src, in.Src2)
	}
	return s
}

func pairOf(a, b cpu.Reg) string {
	if b == cpu.NoReg {
		return name(a)
	}
	return name(a) + "," + name(b)
}

func place(in *cpu.Insn) string {
	s := fmt.Sprintf("%d[%s%+d", 8*int(in.Size), name(in.Base), in.Imm)
	if in.Index != cpu.NoReg {
		s += fmt.Sprintf("+%s<<%d", name(in.Index), in.Scale)
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
		{cpu.FlagAddress, "address"}, {cpu.FlagSign, "sign"}, {cpu.FlagFrameSetup, "frame"},
	} {
		if f&n.flag != 0 {
			s.WriteString(" " + n.name)
		}
	}
	return s.String()
}
