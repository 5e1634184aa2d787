package diff

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// effect writes what an instruction does, in the words of cpu.Insn.
func effect(a *cpu.Arch, in *cpu.Insn) string {
	var b strings.Builder
	b.WriteString(what(a, in))
	for i, name := range flagNames {
		if in.Flags>>i&1 != 0 && name != "" {
			b.WriteString(" " + name)
		}
	}
	return b.String()
}

var flagNames = [...]string{"conditional", "slot", "likely", "memory", "table", "return", "exception", "padding", "entry", "signed", "word", "", "get-pc", "pac", ""}

func what(a *cpu.Arch, in *cpu.Insn) string {
	reg := a.RegName
	switch in.Op {
	case cpu.OpNop:
		return "-"
	case cpu.OpUnknown:
		return "unknown"
	case cpu.OpClobber, cpu.OpSyscall:
		return opNames[in.Op] + " " + list(a, in.List)
	case cpu.OpConst, cpu.OpInsert:
		return fmt.Sprintf("%s = %#x", reg(in.Dst), in.Imm)
	case cpu.OpMove:
		return fmt.Sprintf("%s = %s", reg(in.Dst), reg(in.Src))
	case cpu.OpAddImm:
		return fmt.Sprintf("%s = %s%+d", reg(in.Dst), reg(in.Src), in.Imm)
	case cpu.OpAdd, cpu.OpSub, cpu.OpOr:
		return fmt.Sprintf("%s = %s %s %s", reg(in.Dst), reg(in.Src), opNames[in.Op], reg(in.Src2))
	case cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm:
		return fmt.Sprintf("%s = %s %s %#x", reg(in.Dst), reg(in.Src), opNames[in.Op], in.Imm)
	case cpu.OpLoad:
		return fmt.Sprintf("%s = %s", pair(a, in.Dst, in.Dst2), memory(a, in))
	case cpu.OpStore:
		return fmt.Sprintf("%s = %s", memory(a, in), pair(a, in.Src, in.Src2))
	case cpu.OpLoadMulti:
		return fmt.Sprintf("%s = %s", list(a, in.List), memory(a, in))
	case cpu.OpStoreMulti:
		return fmt.Sprintf("%s = %s", memory(a, in), list(a, in.List))
	case cpu.OpCall, cpu.OpJump:
		if in.Src != cpu.NoReg || in.Flags&cpu.FlagMemory != 0 {
			return opNames[in.Op] + " " + pair(a, in.Src, cpu.NoReg) + memory(a, in)
		}
		return fmt.Sprintf("%s %#x", opNames[in.Op], in.Target)
	case cpu.OpReturn:
		return fmt.Sprintf("return %+d", in.Imm)
	case cpu.OpCompareImm:
		return fmt.Sprintf("compare %s with %d", reg(in.Src), in.Imm)
	}
	return opNames[in.Op]
}

var opNames = map[cpu.Op]string{cpu.OpClobber: "clobber", cpu.OpSyscall: "syscall", cpu.OpAdd: "+", cpu.OpSub: "-", cpu.OpOr: "|",
	cpu.OpOrImm: "|", cpu.OpAndImm: "&", cpu.OpShlImm: "<<", cpu.OpLeave: "leave", cpu.OpCall: "call", cpu.OpJump: "jump", cpu.OpTrap: "trap"}

func memory(a *cpu.Arch, in *cpu.Insn) string {
	s := fmt.Sprintf("[%s%+d]", a.RegName(in.Base), in.Imm)
	if in.Index != cpu.NoReg {
		s += fmt.Sprintf("+%s<<%d", a.RegName(in.Index), in.Scale)
	}
	if in.WB != 0 {
		s += fmt.Sprintf(" %s%+d", a.RegName(in.Base), in.WB)
	}
	return s
}

func pair(a *cpu.Arch, x, y cpu.Reg) string {
	if y == cpu.NoReg {
		return a.RegName(x)
	}
	return a.RegName(x) + "," + a.RegName(y)
}

func list(a *cpu.Arch, set cpu.RegSet) string {
	var names []string
	for ; set != 0; set = set.Without(set.First()) {
		names = append(names, a.RegName(set.First()))
	}
	return "{" + strings.Join(names, ",") + "}"
}
