//go:build !small || riscv64

package disassemble

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"golang.org/x/arch/riscv64/riscv64asm"
)

// riscvText is one instruction. The printer knows RV64 and writes numbers of registers and
// distances of branches: names of the ABI and addresses take their places. RV32 has
// c.jal where RV64 has c.addiw (The RISC-V Instruction Set Manual, volume I, table "RVC
// opcode map"): c.j but for one bit.
func riscvText(arch *cpu.Arch, code []byte, pc uint64) string {
	if arch.AddrSize == 4 && code[0]&3 == 1 && code[1]>>5 == 1 {
		return strings.Replace(riscvText(arch, []byte{code[0], code[1] | 0x80}, pc), "j ", "jal ", 1)
	}
	insn, err := decoded(riscv64asm.Decode, code)
	if err != nil {
		return ""
	}
	name, operands, _ := strings.Cut(strings.ToLower(riscv64asm.GNUSyntax(insn)), " ")
	first, last := "", operands
	if i := strings.LastIndexByte(operands, ','); i >= 0 {
		first, last = operands[:i+1], operands[i+1:]
	}
	switch {
	case branches(name):
		last = branchTarget(arch, code, pc, last)
	case name == "lui" || name == "auipc":
		if n, err := strconv.ParseUint(last, 0, 32); err == nil {
			last = fmt.Sprintf("%#x", n&0xfffff) // the printer extends the sign
		}
	}
	return strings.TrimSpace(name + " " + registersNamed(arch, first+last))
}

// branchTarget is where a branch leads, by the decoder of its effects: the printer takes the
// distance of c.j from other bits than it has. otherwise is what the printer wrote.
func branchTarget(arch *cpu.Arch, code []byte, pc uint64, otherwise string) string {
	var in [1]cpu.Insn
	if arch.Decoder.Decode(code, pc, 0, in[:]) == 0 || in[0].Op != cpu.OpJump && in[0].Op != cpu.OpCall {
		return otherwise
	}
	return fmt.Sprintf("%#x", in[0].Target)
}

// registersNamed writes the ABI's names for registers that operands have by number: 8(x2) is
// 8(sp).
func registersNamed(arch *cpu.Arch, operands string) string {
	var out strings.Builder
	for operands != "" {
		n := max(1, len(operands)-len(strings.TrimLeft(operands, "abcdefghijklmnopqrstuvwxyz0123456789")))
		word := operands[:n]
		operands = operands[n:]
		if number, err := strconv.ParseUint(word[1:], 10, 8); err == nil && number < 32 {
			switch word[0] {
			case 'x':
				word = arch.RegName(cpu.Reg(number))
			case 'f':
				word = floatName(number)
			}
		}
		out.WriteString(word)
	}
	return out.String()
}

// floatName is the name of a floating-point register (RISC-V ABIs Specification, "Floating-point
// Register Convention").
func floatName(n uint64) string {
	switch {
	case n < 8:
		return fmt.Sprintf("ft%d", n)
	case n < 10:
		return fmt.Sprintf("fs%d", n-8)
	case n < 18:
		return fmt.Sprintf("fa%d", n-10)
	case n < 28:
		return fmt.Sprintf("fs%d", n-16)
	}
	return fmt.Sprintf("ft%d", n-20)
}

// branches tells whether an instruction's last operand is a distance from the PC.
func branches(name string) bool {
	return name == "j" || name == "jal" || strings.HasPrefix(name, "b") && !strings.HasPrefix(name, "bset") && !strings.HasPrefix(name, "bclr") ||
		strings.HasPrefix(name, "c.b") || name == "c.j"
}
