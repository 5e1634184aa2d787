// Package x86 describes and decodes x86 in its two widths that Unix knows: the
// 64-bit mode with 64-bit addresses (x86_64) and the 32-bit protected mode
// (i386). The x32 ABI is not covered.
//
// Instructions are found by their length, which three things tell: the prefixes,
// the opcode map that the escape bytes or a VEX, XOP, EVEX or REX2 prefix
// select, and per opcode whether a ModRM byte and an immediate follow. What an
// instruction does is told only as far as a stack cares: see cpu.Insn. Sources:
// Intel SDM volume 2 (325383), AMD APM volume 3 (24594) for XOP and 3DNow!,
// Intel APX specification (355828) for REX2 and the extended EVEX.
package x86

import "github.com/backsight/backsight/cpu"

// Archs returns the descriptors of the family: x86_64 and i386.
func Archs() []*cpu.Arch {
	return []*cpu.Arch{amd64(), i386()}
}

// e_machine of the two ELF flavours (System V gABI, figure 4-2).
const (
	em386    = 3
	emX86_64 = 62
)

// cputype of the two Mach-O flavours (mach/machine.h).
const (
	cpuTypeI386   cpu.MachOType = 7
	cpuTypeX86_64 cpu.MachOType = 0x0100_0007
)

// amd64 describes the System V psABI for AMD64.
//
// StackAlign is what everybody keeps, not what the psABI (section 3.2.2: 16)
// says: Linux kernels are built with -mpreferred-stack-boundary=3, and Go's
// frames are multiples of 8.
func amd64() *cpu.Arch {
	return &cpu.Arch{
		Name:     "x86_64",
		AddrSize: 8, RegSize: 8,
		RegisterFile: cpu.RegisterFile{
			Regs: regs64(),
			PC:   RIP, SP: RSP, FP: RBP, LR: cpu.NoReg, Status: cpu.NoReg, Zero: cpu.NoReg,
		},
		CodeAddresses: cpu.CodeAddresses{InsnAlign: 1},
		Convention: cpu.Convention{
			StackAlign:   8,
			CallPushesRA: true,
			EntryCFA:     8,
			FPChain:      &cpu.FPChain{SavedFP: 0, SavedRA: 8, CFA: 16},
			Preserved:    cpu.SetOf(RBX, RBP, R12, R13, R14, R15),
		},
		Surroundings: cpu.Surroundings{ThreadExit: cpu.SystemCall{Reg: RAX, Number: 60}},
		ELF:          cpu.ELFMatch{Machine: emX86_64, Class: 2},
		MachO:        cpuTypeX86_64,
		Layouts: map[cpu.Carrier]cpu.Layout{
			cpu.LinuxPrstatus:   prstatus64(),
			cpu.LinuxSigcontext: sigcontext64(),
			cpu.GDBPacket:       gdbPacket64(),
			cpu.DarwinThread:    darwinThread64(),
			cpu.LinuxSwitch:     switched64(),
			cpu.MinidumpContext: minidumpContext64(),
			cpu.NetBSDRegs:      netBSDRegs64(),
			cpu.FreeBSDRegs:     freeBSDRegs64(),
		},
		Decoder: &decoder{long: true},
	}
}

// i386 describes the System V psABI for Intel386.
//
// StackAlign is that of the psABI's fourth edition (section 3-9: the word);
// GCC's 16 since 4.5 holds neither for older code nor for kernels.
func i386() *cpu.Arch {
	return &cpu.Arch{
		Name:     "i386",
		AddrSize: 4, RegSize: 4,
		RegisterFile: cpu.RegisterFile{
			Regs: regs32(),
			PC:   EIP, SP: ESP, FP: EBP, LR: cpu.NoReg, Status: cpu.NoReg, Zero: cpu.NoReg,
		},
		CodeAddresses: cpu.CodeAddresses{InsnAlign: 1},
		Convention: cpu.Convention{
			StackAlign:   4,
			CallPushesRA: true,
			EntryCFA:     4,
			FPChain:      &cpu.FPChain{SavedFP: 0, SavedRA: 4, CFA: 8},
			Preserved:    cpu.SetOf(EBX, EBP, ESI, EDI),
			PCThunk:      true,
		},
		Surroundings: cpu.Surroundings{ThreadExit: cpu.SystemCall{Reg: EAX, Number: 1}},
		ELF:          cpu.ELFMatch{Machine: em386, Class: 1},
		MachO:        cpuTypeI386,
		Layouts: map[cpu.Carrier]cpu.Layout{
			cpu.LinuxPrstatus:   prstatus32(),
			cpu.LinuxSigcontext: sigcontext32(),
			cpu.GDBPacket:       gdbPacket32(),
			cpu.DarwinThread:    darwinThread32(),
			cpu.LinuxSwitch:     switched32(),
			cpu.MinidumpContext: minidumpContext32(),
		},
		Decoder: &decoder{},
	}
}
