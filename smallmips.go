//go:build small && (mips || mipsle || mips64 || mips64le)

package backsight

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
)

// CPUs are those of MIPS: what the program reports runs beside it.
func CPUs() cpu.Set { return mips.Archs() }
