//go:build small && !riscv64

package disassemble

import "github.com/backsight/backsight/cpu"

// riscvText writes no instruction: the program reports what runs beside it, on another processor.
func riscvText(*cpu.Arch, []byte, uint64) string { return "" }
