package typeset

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// Effect writes what an instruction does to a stack, as short pseudo-code: it is
// not the mnemonic, which cpu.Insn does not know. addr is added to addresses.
//
//	addiu sp,sp,-32   sp = sp - 32
//	sw ra,28(sp)      [sp+28] = ra
//	pop {r4, pc}      {r4 pc} = [sp]; sp = sp + 8
func Effect(arch *cpu.Arch, i *cpu.Insn, bias uint64) string {
	w := effect{arch: arch, bias: bias}
	s := w.op(i)
	if i.Flags&cpu.FlagConditional != 0 {
		s = "if: " + s
	}
	if i.WB != 0 {
		s += fmt.Sprintf("; %s = %[1]s %s", w.reg(i.Base), signed(int64(i.WB)))
	}
	if i.Flags&cpu.FlagDelaySlot != 0 {
		s += ", after the next"
	}
	return s
}

type effect struct {
	arch *cpu.Arch
	bias uint64
}

func (w *effect) reg(r cpu.Reg) string { return w.arch.RegName(r) }

func (w *effect) address(a uint64) string { return fmt.Sprintf("%#x", (a+w.bias)&w.arch.AddrMask()) }

// signed writes + 8 or - 8.
func signed(n int64) string {
	if n < 0 {
		return fmt.Sprintf("- %d", uint64(-n))
	}
	return fmt.Sprintf("+ %d", n)
}

func (w *effect) op(i *cpu.Insn) string {
	switch i.Op {
	case cpu.OpNop:
		if i.Flags&cpu.FlagPadding != 0 {
			return "nop"
		}
		return "-"
	case cpu.OpUnknown:
		return "unknown"
	case cpu.OpClobber:
		return w.list(i.List) + " = ?"
	case cpu.OpConst:
		if i.Flags&cpu.FlagAddress != 0 {
			return w.reg(i.Dst) + " = " + w.address(uint64(i.Imm))
		}
		return fmt.Sprintf("%s = %#x", w.reg(i.Dst), i.Imm)
	case cpu.OpInsert:
		return fmt.Sprintf("%s = %[1]s with %#x<<%d", w.reg(i.Dst), i.Imm, i.Scale)
	case cpu.OpMove:
		return w.reg(i.Dst) + " = " + w.reg(i.Src)
	case cpu.OpAddImm:
		return w.reg(i.Dst) + " = " + w.reg(i.Src) + " " + signed(i.Imm)
	case cpu.OpAddLoad:
		return w.reg(i.Dst) + " = " + w.reg(i.Src) + " + " + w.memory(i)
	case cpu.OpAdd, cpu.OpSub, cpu.OpOr, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm, cpu.OpShrImm:
		return w.arithmetic(i)
	case cpu.OpLoad:
		return w.pair(i.Dst, i.Dst2) + " = " + w.memory(i)
	case cpu.OpStore:
		return w.memory(i) + " = " + w.pair(i.Src, i.Src2)
	case cpu.OpLoadMulti:
		return "{" + w.list(i.List) + "} = " + w.memory(i) + w.returns(i)
	case cpu.OpStoreMulti:
		return w.memory(i) + " = {" + w.list(i.List) + "}"
	case cpu.OpLeave:
		return fmt.Sprintf("%s = %s; %[2]s = [%[1]s]; %[1]s = %[1]s + %[3]d", w.reg(w.arch.SP), w.reg(w.arch.FP), w.arch.AddrSize)
	}
	return w.control(i)
}

// arithmetic writes the operations with one line each.
func (w *effect) arithmetic(i *cpu.Insn) string {
	s := w.reg(i.Dst) + " = " + w.reg(i.Src)
	scaled := func(op string) string {
		s += op + w.reg(i.Src2)
		if i.Scale != 0 {
			s += fmt.Sprintf("<<%d", i.Scale)
		}
		return s
	}
	switch i.Op {
	case cpu.OpAdd:
		return scaled(" + ")
	case cpu.OpSub:
		return scaled(" - ")
	case cpu.OpOr:
		return scaled(" | ")
	case cpu.OpOrImm:
		return s + fmt.Sprintf(" | %#x", i.Imm)
	case cpu.OpAndImm:
		if i.Imm < 0 && i.Imm > -1<<16 {
			return s + fmt.Sprintf(" & %d", i.Imm)
		}
		return s + fmt.Sprintf(" & %#x", uint64(i.Imm))
	case cpu.OpShrImm:
		return s + fmt.Sprintf(" >> %d", i.Imm)
	}
	return s + fmt.Sprintf(" << %d", i.Imm)
}

// control writes what may change the PC.
func (w *effect) control(i *cpu.Insn) string {
	switch i.Op {
	case cpu.OpCall:
		if i.Flags&cpu.FlagGetPC != 0 {
			return w.reg(i.Dst) + " = PC"
		}
		return "call " + w.target(i)
	case cpu.OpJump:
		if i.Flags&cpu.FlagReturn != 0 {
			return "return " + w.target(i)
		}
		return "goto " + w.target(i)
	case cpu.OpReturn:
		return w.back(i)
	case cpu.OpTrap:
		return "trap"
	case cpu.OpSyscall:
		return "system call"
	case cpu.OpCompareImm:
		return fmt.Sprintf("compare %s with %d", w.reg(i.Src), i.Imm)
	}
	return "?"
}

func (w *effect) back(i *cpu.Insn) string {
	switch {
	case i.Flags&cpu.FlagException != 0:
		return "return from exception"
	case i.Src == cpu.NoReg:
		return fmt.Sprintf("return [%s]", w.reg(w.arch.SP))
	case i.Imm != 0:
		return fmt.Sprintf("return %s; %s = %[2]s %s", w.reg(i.Src), w.reg(w.arch.SP), signed(i.Imm))
	}
	return "return " + w.reg(i.Src)
}

func (w *effect) returns(i *cpu.Insn) string {
	if i.Flags&cpu.FlagReturn != 0 && !i.List.Has(w.arch.PC) {
		return "; return"
	}
	return ""
}

// target is where a call or jump goes.
func (w *effect) target(i *cpu.Insn) string {
	switch {
	case i.Flags&cpu.FlagTable != 0:
		return "by table " + w.memory(i)
	case i.Flags&cpu.FlagMemory != 0:
		return w.memory(i)
	case i.Target == 0 && i.Src != cpu.NoReg && i.Flags&cpu.FlagConditional == 0:
		return w.reg(i.Src) + offsetOf(i.Imm)
	}
	return w.address(i.Target)
}

func offsetOf(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%+d", n)
}

// memory is the place of an access: [base+index*4+8].
func (w *effect) memory(i *cpu.Insn) string {
	if i.Base == cpu.NoReg && i.Index == cpu.NoReg {
		return "[" + w.address(uint64(i.Imm)) + "]"
	}
	var parts []string
	if i.Base != cpu.NoReg {
		parts = append(parts, w.reg(i.Base))
	}
	if i.Index != cpu.NoReg {
		parts = append(parts, fmt.Sprintf("%s*%d", w.reg(i.Index), 1<<(i.Scale&7)))
	}
	return "[" + strings.Join(parts, "+") + offsetOf(i.Imm) + "]"
}

func (w *effect) pair(a, b cpu.Reg) string {
	switch {
	case a == cpu.NoReg && b == cpu.NoReg:
		return "?"
	case b == cpu.NoReg:
		return w.reg(a)
	}
	return w.reg(a) + ", " + w.reg(b)
}

func (w *effect) list(set cpu.RegSet) string {
	if set == 0 {
		return "?"
	}
	var names []string
	for ; set != 0; set = set.Without(set.First()) {
		names = append(names, w.reg(set.First()))
	}
	return strings.Join(names, " ")
}
