//go:build small && (386 || amd64)

package backsight

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/x86"
)

// CPUs are those of x86: what the program reports runs beside it.
func CPUs() cpu.Set { return x86.Archs() }
