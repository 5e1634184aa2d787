//go:build small && arm64

package backsight

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
)

// CPUs are those of AArch64, and of the ARM programs that it runs: what the program reports runs beside it.
func CPUs() cpu.Set { return append(cpu.Set(arm64.Archs()), arm.Archs()...) }
