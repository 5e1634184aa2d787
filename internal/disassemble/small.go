//go:build small

package disassemble

import "runtime"

// printerOf is that of the processors that the program is built for: the linker leaves out the others, for GOARCH is a constant.
func printerOf(string) printer {
	switch runtime.GOARCH {
	case "386", "amd64":
		return x86
	case "arm":
		return arm
	case "arm64":
		return arm64
	case "riscv64":
		return riscv
	case "mips", "mipsle", "mips64", "mips64le":
		return mips
	}
	return nil
}
