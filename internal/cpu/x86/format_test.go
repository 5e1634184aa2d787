package x86

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// format writes an effect the way these tests state them:
//
//	rax = rbx + 0x10           rax = [rsp+rcx*8+0x10].8      [rsp-0x8].8 = rbp; rsp += -8
//	clobber rax,rdx            call 0x1234                   jump [rip 0x4000].8
func format(a *cpu.Arch, i *cpu.Insn) string {
	reg := func(r cpu.Reg) string {
		if r == cpu.NoReg {
			return "?"
		}
		return a.RegName(r)
	}
	var s string
	switch i.Op {
	case cpu.OpNop:
		s = "nop"
	case cpu.OpUnknown:
		s = "unknown"
	case cpu.OpClobber:
		s = "clobber " + set(a, i.List)
	case cpu.OpConst:
		s = fmt.Sprintf("%s = %#x", reg(i.Dst), uint64(i.Imm))
	case cpu.OpMove:
		s = reg(i.Dst) + " = " + reg(i.Src)
	case cpu.OpAddImm:
		s = fmt.Sprintf("%s = %s + %s", reg(i.Dst), reg(i.Src), hexInt(i.Imm))
	case cpu.OpAdd:
		s = fmt.Sprintf("%s = %s + %s<<%d", reg(i.Dst), reg(i.Src), reg(i.Src2), i.Scale)
	case cpu.OpSub:
		s = fmt.Sprintf("%s = %s - %s<<%d", reg(i.Dst), reg(i.Src), reg(i.Src2), i.Scale)
	case cpu.OpOr:
		s = fmt.Sprintf("%s = %s | %s", reg(i.Dst), reg(i.Src), reg(i.Src2))
	case cpu.OpOrImm:
		s = fmt.Sprintf("%s = %s | %s", reg(i.Dst), reg(i.Src), hexInt(i.Imm))
	case cpu.OpAndImm:
		s = fmt.Sprintf("%s = %s & %s", reg(i.Dst), reg(i.Src), hexInt(i.Imm))
	case cpu.OpShlImm:
		s = fmt.Sprintf("%s = %s << %d", reg(i.Dst), reg(i.Src), i.Imm)
	case cpu.OpShrImm:
		s = fmt.Sprintf("%s = %s >> %d", reg(i.Dst), reg(i.Src), i.Imm)
	case cpu.OpAddLoad:
		s = reg(i.Dst) + " = " + reg(i.Src) + " + " + operand(a, i)
	case cpu.OpLoad:
		s = reg(i.Dst)
		if i.Dst2 != cpu.NoReg {
			s += "," + reg(i.Dst2)
		}
		s += " = " + operand(a, i)
	case cpu.OpStore:
		s = operand(a, i) + " = " + reg(i.Src)
		if i.Src2 != cpu.NoReg {
			s += "," + reg(i.Src2)
		}
	case cpu.OpLeave:
		s = "leave"
	case cpu.OpCall, cpu.OpJump:
		s = map[cpu.Op]string{cpu.OpCall: "call ", cpu.OpJump: "jump "}[i.Op]
		switch {
		case i.Flags&cpu.FlagMemory != 0:
			s += operand(a, i)
		case i.Src != cpu.NoReg:
			s += reg(i.Src)
		default:
			s += fmt.Sprintf("%#x", i.Target)
		}
		if i.List != 0 {
			s += "; clobber " + set(a, i.List)
		}
	case cpu.OpReturn:
		s = fmt.Sprintf("return +%d", i.Imm)
	case cpu.OpTrap:
		s = "trap"
	case cpu.OpSyscall:
		s = fmt.Sprintf("syscall %#x clobber %s", i.Imm, set(a, i.List))
	case cpu.OpCompareImm:
		s = fmt.Sprintf("compare %s.%d %s", reg(i.Src), i.Size, hexInt(i.Imm))
	}
	if i.WB != 0 {
		s += fmt.Sprintf("; %s += %d", reg(i.Base), i.WB)
	}
	for f, name := range map[cpu.Flags]string{
		cpu.FlagConditional: " conditional", cpu.FlagException: " exception", cpu.FlagPadding: " padding",
		cpu.FlagEntry: " entry", cpu.FlagSigned: " signed", cpu.FlagWord32: " word32",
		cpu.FlagAddress: " address", cpu.FlagGetPC: " getpc", cpu.FlagFrameSetup: " frame",
	} {
		if i.Flags&f != 0 {
			s += name
		}
	}
	return s
}

func hexInt(v int64) string {
	if v < 0 {
		return fmt.Sprintf("-%#x", uint64(-v))
	}
	return fmt.Sprintf("%#x", v)
}

func set(a *cpu.Arch, s cpu.RegSet) string {
	var names []string
	for ; s != 0; s = s.Without(s.First()) {
		names = append(names, a.RegName(s.First()))
	}
	return strings.Join(names, ",")
}

func operand(a *cpu.Arch, i *cpu.Insn) string {
	var parts []string
	if i.Base != cpu.NoReg {
		parts = append(parts, a.RegName(i.Base))
	}
	if i.Index != cpu.NoReg {
		parts = append(parts, fmt.Sprintf("%s*%d", a.RegName(i.Index), 1<<i.Scale))
	}
	if i.Imm != 0 || len(parts) == 0 {
		if i.Base == cpu.NoReg {
			parts = append(parts, fmt.Sprintf("%#x", uint64(i.Imm)))
		} else {
			parts = append(parts, hexInt(i.Imm))
		}
	}
	return fmt.Sprintf("[%s].%d", strings.ReplaceAll(strings.Join(parts, "+"), "+-", "-"), i.Size)
}
