package device

import "github.com/backsight/backsight/cpu"

// The machines of device tables, by their number in ELF files.
const (
	elfI386    = 3
	elfMIPS    = 8
	elfARM     = 40
	elfX86     = 62
	elfAArch64 = 183
	elfRISCV   = 243
)

// maxTracked is how many registers a table can track.
const maxTracked = 12

// registersOf are the registers that device tables name, in the order of their numbers there;
// nil for machines that have no device tables. device/backsight.h has the same lists.
func registersOf(arch *cpu.Arch) []cpu.Reg {
	switch arch.ELF.Machine {
	case elfMIPS: // s0 to s7, t8, t9; in place of k0 and k1 those that glibc's own code keeps a return address in; gp to ra
		return append(append(consecutive(16, 25), 1, 15), consecutive(28, 31)...)
	case elfAArch64: // x16 to sp
		return consecutive(16, 31)
	case elfARM, elfX86:
		return consecutive(0, 15)
	case elfI386:
		return consecutive(0, 7)
	case elfRISCV: // ra, sp, t0, s0 to s11
		return append([]cpu.Reg{1, 2, 5, 8, 9}, consecutive(18, 27)...)
	}
	return nil
}

func consecutive(first, last cpu.Reg) (regs []cpu.Reg) {
	for r := first; r <= last; r++ {
		regs = append(regs, r)
	}
	return regs
}

// Registers are those of a register file that device tables name, by their number there; bit n of
// known tells that the n-th is known.
func Registers(arch *cpu.Arch, regs *cpu.Registers) (known uint16, values [16]uint64) {
	for i, r := range registersOf(arch) {
		if v, ok := regs.Lookup(r); ok {
			known |= 1 << i
			values[i] = v
		}
	}
	return known, values
}
