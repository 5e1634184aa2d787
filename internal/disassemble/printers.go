//go:build !small

package disassemble

// printerOf is what writes the instructions of the processors with this name; nil for none.
func printerOf(name string) printer {
	switch name {
	case "x86_64", "i386":
		return x86
	case "arm":
		return arm
	case "aarch64":
		return arm64
	case "riscv64", "riscv32":
		return riscv
	case "mips", "mips64":
		return mips
	}
	return nil
}
