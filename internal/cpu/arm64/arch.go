// Package arm64 describes AArch64 (the A64 instruction set of Armv8 and Armv9)
// and decodes its instructions to their effects on a stack.
//
// Encodings follow the Arm Architecture Reference Manual (DDI 0487), register
// roles the AAPCS64 (IHI 0055), register numbers in call frame information
// DWARF for the Arm 64-bit Architecture (IHI 0057).
package arm64

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
)

// Registers by their place in the descriptor. X0+n is general register n.
const (
	X0  cpu.Reg = 0
	X16 cpu.Reg = 16
	X17 cpu.Reg = 17
	X19 cpu.Reg = 19
	X29 cpu.Reg = 29
	X30 cpu.Reg = 30
	SP  cpu.Reg = 31
	PC  cpu.Reg = 32
	// PSTATE is the processor state as cores and GDB (cpsr) show it.
	PSTATE cpu.Reg = 33
	// RASignState is a pseudo register: bit 0 says that the return address is
	// signed at this point (IHI 0057, "RA_SIGN_STATE").
	RASignState cpu.Reg = 34

	numRegs = 35
)

// machine is e_machine EM_AARCH64.
const machine = 183

// Archs returns the descriptors of the family; the first is the default.
//
// A big-endian AArch64 has little-endian instructions and big-endian data; the
// decoder is the same for both.
//
// The upper bits of a code pointer may hold a pointer authentication code or a tag:
// how many is a matter of the kernel's address space (its CONFIG_ARM64_VA_BITS).
//
// The last is what Apple Watches run: arm64_32, with pointers of four bytes in registers
// of eight.
func Archs() []*cpu.Arch {
	little := describe()
	big, narrow := *little, *little
	big.BigEndian = true
	little.MachO = cpuTypeARM64
	narrow.ABI, narrow.AddrSize, narrow.AddrBits = "ilp32", 4, nil
	narrow.MachO, narrow.ELF = cpuTypeARM64_32, cpu.ELFMatch{Machine: machine, Class: 1}
	return []*cpu.Arch{little, &big, &narrow}
}

// cputype of Mach-O files (mach/machine.h): arm64, arm64e with it, and arm64_32.
const (
	cpuTypeARM64    cpu.MachOType = 0x0100_000c
	cpuTypeARM64_32 cpu.MachOType = 0x0200_000c
)

func describe() *cpu.Arch {
	return &cpu.Arch{
		Name:     "aarch64",
		AddrSize: 8, RegSize: 8,
		RegisterFile: cpu.RegisterFile{
			Regs: registers(),
			PC:   PC, SP: SP, FP: X29, LR: X30, Status: cpu.NoReg, Zero: cpu.NoReg,
		},
		CodeAddresses: cpu.CodeAddresses{InsnAlign: 4, AddrBits: []uint8{52, 48, 47, 42, 39, 36}},
		Convention: cpu.Convention{
			StackAlign: 16,
			Preserved:  preserved,
			Platform:   cpu.SetOf(X0 + 18),
			// The record lies anywhere in the frame (AAPCS64 6.4.6): above it may be
			// saved registers and locals, so the CFA does not follow from it. 16, the
			// end of the record, is its lower bound, and right only where nothing
			// else is saved above.
			FPChain: &cpu.FPChain{SavedFP: 0, SavedRA: 8, CFA: 16},
		},
		Surroundings: cpu.Surroundings{
			HookKeeps:  X0 + 9, // arch/arm64/kernel/ftrace.c, ftrace_init_nop
			ThreadExit: cpu.SystemCall{Reg: X0 + 8, Number: 93},
		},
		ELF:     cpu.ELFMatch{Machine: machine, Class: 2},
		Layouts: layouts(),
		Decoder: decoder{},
	}
}

// preserved is x19..x28 and the frame pointer (AAPCS64 6.1.1).
const preserved cpu.RegSet = 1<<(X29+1) - 1<<X19

// registers lists the names that ELF cores, GDB, Linux and bare-metal fault
// dumps use. xzr has no entry: it is not a register but an operand.
func registers() []cpu.RegInfo {
	regs := make([]cpu.RegInfo, numRegs)
	for i := range 31 {
		regs[i] = cpu.RegInfo{Names: []string{fmt.Sprintf("x%d", i)}, DWARF: i, Size: 8}
	}
	alias := func(r cpu.Reg, names ...string) { regs[r].Names = append(regs[r].Names, names...) }
	alias(X16, "ip0")
	alias(X17, "ip1")
	alias(X29, "fp")
	alias(X30, "lr")
	regs[SP] = cpu.RegInfo{Names: []string{"sp", "x31"}, DWARF: 31, Size: 8}
	regs[PC] = cpu.RegInfo{Names: []string{"pc", "elr", "elr_el1"}, DWARF: 32, Size: 8}
	regs[PSTATE] = cpu.RegInfo{Names: []string{"cpsr", "pstate", "spsr", "spsr_el1"}, DWARF: -1, Size: 8}
	regs[RASignState] = cpu.RegInfo{Names: []string{"ra_sign_state"}, DWARF: 34, Size: 8}
	return regs
}
