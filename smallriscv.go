//go:build small && riscv64

package backsight

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/riscv"
)

// CPUs are those of RISC-V: what the program reports runs beside it.
func CPUs() cpu.Set { return riscv.Archs() }
