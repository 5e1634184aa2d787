package disassemble

import (
	"fmt"
	"regexp"
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
	operands = regexp.MustCompile(`\bx[0-9]+\b`).ReplaceAllStringFunc(operands, func(x string) string {
		n, _ := strconv.Atoi(x[1:])
		return arch.RegName(cpu.Reg(n))
	})
	return strings.TrimSpace(name + " " + operands)
}

// branches tells whether an instruction's last operand is a distance from the PC.
func branches(name string) bool {
	return name == "j" || name == "jal" || strings.HasPrefix(name, "b") && !strings.HasPrefix(name, "bset") && !strings.HasPrefix(name, "bclr") ||
		strings.HasPrefix(name, "c.b") || name == "c.j"
}
