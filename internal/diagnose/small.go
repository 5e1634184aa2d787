//go:build small && !386 && !amd64

package diagnose

import "github.com/backsight/backsight/cpu"

// accessX86 knows no instruction: the program reports what runs beside it, on another processor.
func accessX86([]byte, uint64, *cpu.Registers, *cpu.Arch) (access, bool) { return access{}, false }
