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
// opcode map"); nothing is said of these bits there.
func riscvText(arch *cpu.Arch, code []byte, pc uint64) string {
	if arch.AddrSize == 4 && code[0]&3 == 1 && code[1]>>5 == 1 {
		return ""
	}
	insn, err := riscv64asm.Decode(code)
	if err != nil {
		return ""
	}
	name, operands, _ := strings.Cut(strings.ToLower(riscv64asm.GNUSyntax(insn)), " ")
	if i := strings.LastIndexByte(operands, ','); branches(name) {
		if distance, err := strconv.ParseInt(operands[i+1:], 0, 64); err == nil {
			operands = operands[:i+1] + fmt.Sprintf("%#x", (pc+uint64(distance))&arch.AddrMask())
		}
	}
	return strings.TrimSpace(name + " " + registersNamed(arch, operands))
}

// registersNamed writes the ABI's names for registers that operands have by number: 8(x2) is
// 8(sp).
func registersNamed(arch *cpu.Arch, operands string) string {
	var out strings.Builder
	for operands != "" {
		n := max(1, len(operands)-len(strings.TrimLeft(operands, "abcdefghijklmnopqrstuvwxyz0123456789")))
		word := operands[:n]
		operands = operands[n:]
		if digits, ok := strings.CutPrefix(word, "x"); ok {
			if number, err := strconv.ParseUint(digits, 10, 8); err == nil {
				word = arch.RegName(cpu.Reg(number))
			}
		}
		out.WriteString(word)
	}
	return out.String()
}

// branches tells whether an instruction's last operand is a distance from the PC.
func branches(name string) bool {
	return name == "j" || name == "jal" || strings.HasPrefix(name, "b") && !strings.HasPrefix(name, "bset") && !strings.HasPrefix(name, "bclr") ||
		strings.HasPrefix(name, "c.b") || name == "c.j"
}
