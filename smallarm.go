//go:build small && arm

package backsight

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
)

// CPUs are those of ARM: what the program reports runs beside it.
func CPUs() cpu.Set { return arm.Archs() }
