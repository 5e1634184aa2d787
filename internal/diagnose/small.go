//go:build small && !386 && !amd64

package diagnose

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// accessX86 knows no instruction: the program reports what runs beside it, on another processor.
func accessX86([]byte, uint64, *cpu.Registers, *cpu.Arch) (access, bool) { return access{}, false }

// badTarget knows no instruction either.
func badTarget(*target.Snapshot, *report.Frame, *cpu.Registers) (uint64, bool) { return 0, false }
