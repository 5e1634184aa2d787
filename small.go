//go:build small

package backsight

import (
	"runtime"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/input/snapshot"
	"github.com/backsight/backsight/internal/pclntab"
)

// CPUs are the processors of the family that the program is built for: what it reports runs beside it. The linker leaves out the
// others, for GOARCH is a constant.
func CPUs() cpu.Set {
	switch runtime.GOARCH {
	case "mips", "mipsle", "mips64", "mips64le":
		return mips.Archs()
	case "arm":
		return arm.Archs()
	case "arm64":
		return append(cpu.Set(arm64.Archs()), arm.Archs()...)
	case "riscv64":
		return riscv.Archs()
	case "386", "amd64":
		return x86.Archs()
	}
	return nil
}

// Formats are cores of processes, and snapshots.
func Formats() []input.Format { return []input.Format{elfcore.Format(), snapshot.Format()} }

// ImageFormats are the executables of processes.
func ImageFormats() []image.Format { return []image.Format{pclntab.Named(elf.Format())} }
