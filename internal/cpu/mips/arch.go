// Package mips describes and decodes the MIPS processors: the ABIs o32, n32 and
// n64 in both byte orders, the standard 32-bit encoding from MIPS I to release 6
// with the extensions of Cavium and Loongson, and the two compressed encodings
// MIPS16e and microMIPS.
//
// What a code address with bit 0 set means is a property of the program, stated
// in its ELF header: the standard encoding shares the address space with either
// MIPS16e or microMIPS, never both (MD00087, "ISA Mode"). So each ABI comes in
// several descriptors that differ in the decoder only, and the one for the
// commonest case, MIPS16e before release 6, comes first.
package mips

import "github.com/backsight/backsight/cpu"

// The e_flags of the System V ABI supplement and of binutils' elf/mips.h.
const (
	machineMIPS = 8

	flagABI2      = 0x0000_0020 // n32 in a 32-bit file
	flagMicroMIPS = 0x0200_0000
	flagMIPS16    = 0x0400_0000
	flagArch      = 0xf000_0000
	flagArch32R6  = 0x9000_0000
	flagArch64R6  = 0xa000_0000
	// EF_MIPS_MACH 0xa0–0xa4 are the Loongson cores 2E, 2F, GS464, GS464E and
	// GS264E; 0xa5–0xa7 are unassigned.
	flagMachLoongson     = 0x00a0_0000
	flagMachLoongsonMask = 0x00f8_0000
)

// abi holds what the calling conventions differ in.
type abi struct {
	cpu, name         string
	addrSize, regSize int
	class             uint8
	elf               uint32 // value of the ABI2 bit, tested in 32-bit files
	elfMask           uint32
	stackAlign        uint64
	gpPreserved       bool
	archR6            uint32
	hookPops          int64   // gcc/config/mips/mips.h, FUNCTION_PROFILER
	hookKeeps         cpu.Reg // … of the other ABIs, whose hook leaves SP as it was
	exit              int64   // Linux, arch/mips/kernel/syscalls
}

func abis() [3]abi {
	return [3]abi{
		{cpu: "mips", name: "o32", addrSize: 4, regSize: 4, class: 1, elfMask: flagABI2,
			stackAlign: 8, archR6: flagArch32R6, hookPops: 8, exit: 4001},
		{cpu: "mips64", name: "n64", addrSize: 8, regSize: 8, class: 2,
			stackAlign: 16, gpPreserved: true, archR6: flagArch64R6, hookKeeps: AT, exit: 5058},
		{cpu: "mips64", name: "n32", addrSize: 4, regSize: 8, class: 1, elf: flagABI2, elfMask: flagABI2,
			stackAlign: 16, gpPreserved: true, archR6: flagArch64R6, hookKeeps: AT, exit: 6058},
	}
}

// Archs returns the descriptors of the MIPS ABIs: first the plain ones of o32,
// n64 and n32 in either byte order, then their microMIPS, release 6 and Loongson
// variants, which only the flags of an ELF file select. All are made at each start of
// a program: those of one width share what they have in common.
func Archs() []*cpu.Arch {
	var list []*cpu.Arch
	all := abis()
	narrow, wide, ofWide := registers(all[0]), registers(all[1]), layouts(all[1], false)
	for _, a := range all {
		for _, big := range [...]bool{true, false} {
			arch := a.arch(big)
			if arch.Regs, arch.Layouts = wide, ofWide; a.regSize == 4 {
				arch.Regs, arch.Layouts = narrow, layouts(a, big)
			}
			list = append(list, arch)
		}
	}
	for _, v := range [...]variant{microMIPS, release6, loongson} {
		for i, a := range all {
			list = append(list, a.with(v, list[2*i]), a.with(v, list[2*i+1]))
		}
	}
	return list
}

// with describes an ABI for another instruction set. What that changes nothing about, the
// descriptors share.
func (a abi) with(v variant, of *cpu.Arch) *cpu.Arch {
	other := *of
	other.ELF, other.Decoder = a.elfMatch(v), newDecoder(a, v, of.BigEndian)
	return &other
}

// variant is an instruction set that ELF flags announce.
type variant uint8

const (
	plain variant = iota
	microMIPS
	// release6 has no MIPS16e, so that mode 1 is microMIPS release 6 whether or
	// not the file says so.
	release6
	// loongson reuses the coprocessor 2 loads and stores, where plain programs
	// have Cavium's bit branches.
	loongson
)

func (a abi) elfMatch(v variant) cpu.ELFMatch {
	m := cpu.ELFMatch{Machine: machineMIPS, Class: a.class, Mask: a.elfMask, Flags: a.elf, ModeFlags: flagMicroMIPS | flagMIPS16}
	switch v {
	case microMIPS:
		m.Mask |= flagMicroMIPS
		m.Flags |= flagMicroMIPS
	case release6:
		m.Mask |= flagArch
		m.Flags |= a.archR6
	case loongson:
		m.Mask |= flagMachLoongsonMask
		m.Flags |= flagMachLoongson
	}
	return m
}

func (a abi) arch(big bool) *cpu.Arch {
	preserved := cpu.SetOf(S0, S1, S2, S3, S4, S5, S6, S7, S8)
	if a.gpPreserved {
		preserved = preserved.With(GP)
	}
	return &cpu.Arch{
		Name: a.cpu, ABI: a.name, BigEndian: big,
		AddrSize: a.addrSize, RegSize: a.regSize,
		RegisterFile: cpu.RegisterFile{
			PC: PC, SP: SP, FP: cpu.NoReg, LR: RA, Status: cpu.NoReg, Zero: Zero,
		},
		CodeAddresses: cpu.CodeAddresses{InsnAlign: 2, ISABit: true},
		Convention: cpu.Convention{
			StackAlign: a.stackAlign,
			Preserved:  preserved,
			SelfRegs:   cpu.SetOf(T9),
			Globals:    cpu.SetOf(GP),
			GPBias:     0x7ff0,
		},
		Surroundings: cpu.Surroundings{
			HookPops:   a.hookPops,
			HookKeeps:  a.hookKeeps,
			ThreadExit: cpu.SystemCall{Reg: V0, Number: a.exit},
		},
		ELF:     a.elfMatch(plain),
		Decoder: newDecoder(a, plain, big),
	}
}
