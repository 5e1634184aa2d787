// Package arm describes 32-bit ARM processors and decodes A32 and Thumb-2
// (ARMv4T to ARMv8-A in AArch32 state, ARMv6-M to ARMv8.1-M) to the effects
// that a backtrace needs.
//
// The encodings are those of the "ARM Architecture Reference Manual ARMv7-A and
// ARMv7-R edition" (DDI 0406C) and the "Armv8-M Architecture Reference Manual"
// (DDI 0553), cited below as v7 and v8-M; the procedure call standard is
// AAPCS32.
package arm

import (
	"maps"
	"slices"

	"github.com/backsight/backsight/cpu"
)

// The registers in our numbering, which is that of the instruction encodings.
const (
	R0 cpu.Reg = iota
	R1
	R2
	R3
	R4
	R5
	R6
	R7
	R8
	R9
	R10
	R11
	R12
	SP
	LR
	PC
	// CPSR is the status register: cpsr, or xpsr of the M profile.
	CPSR
	// MSP and PSP are the main and the process stack pointer of the M profile.
	// Sp is the one in use; the other keeps its value (v8-M B3.8).
	MSP
	PSP
)

const (
	// machineARM is EM_ARM, and flagBE8 EF_ARM_BE8, of "ELF for the Arm
	// Architecture" (AAELF32): data is big-endian, code is little-endian.
	machineARM = 40
	flagBE8    = 0x0080_0000

	// The T bit of the CPSR (v7 B1.3.3) and of the M profile's EPSR.
	cpsrT = 5
	epsrT = 24
)

// cpuTypeARM is the cputype of Mach-O files (mach/machine.h).
const cpuTypeARM cpu.MachOType = 12

// Archs returns the descriptors of the family. The first is the little-endian
// application and real-time profile; "cortexm" is the microcontroller profile,
// which knows only Thumb and takes exceptions without software. Of the
// big-endian ones, BE8 (ARMv6 and later) fetches code little-endian, and BE32
// (before; XScale routers) big-endian.
func Archs() []*cpu.Arch {
	a := describe()
	m, be8, be32 := *a, *a, *a
	a.MachO = cpuTypeARM
	a.Layouts = maps.Clone(a.Layouts)
	a.Layouts[cpu.DarwinThread] = darwinThread()

	m.ABI = "cortexm"
	m.Decoder = decoder{micro: true}
	m.ModeOnly = true
	m.ResetLR = 0xffff_ffff    // TakeReset (DDI 0403, B1.5.5)
	m.OtherState = 0xfeff_ffff // FNC_RETURN (DDI 0553)
	m.FP = R7
	m.StatusModeBit = epsrT
	m.Regs = append(slices.Clone(m.Regs), stackPointers()...)
	m.Regs[CPSR].Names = []string{"xpsr", "psr", "cpsr"}
	m.ELF.Profile = 'M'
	m.Layouts = map[cpu.Carrier]cpu.Layout{
		cpu.GDBPacket:    gdbPacket(),
		cpu.CortexMFrame: exceptionFrame(),
	}

	be8.ABI, be8.BigEndian = "be8", true
	be8.ELF.Mask, be8.ELF.Flags = flagBE8, flagBE8

	be32.ABI, be32.BigEndian = "be32", true
	be32.ELF.Mask = flagBE8
	be32.Decoder = decoder{bigCode: true}
	return []*cpu.Arch{a, &m, &be8, &be32}
}

// describe returns what all variants have in common.
//
// FPChain stays nil, for there is no one frame record: GCC's A32 code points
// r11 at the saved LR (record at r11−4, r11) but in a leaf at the saved r11;
// Clang's points it at the saved r11 (record at r11, r11+4); -mapcs-frame at the
// saved PC (record at r11−12, r11−4); in Thumb code GCC's r7 is the bottom of
// the frame, with the record at a distance that only the code tells.
func describe() *cpu.Arch {
	return &cpu.Arch{
		Name:     "arm",
		AddrSize: 4, RegSize: 4,
		RegisterFile: cpu.RegisterFile{
			Regs: registers(),
			PC:   PC, SP: SP, FP: R11, LR: LR, Status: CPSR, Zero: cpu.NoReg,
		},
		CodeAddresses: cpu.CodeAddresses{InsnAlign: 2, ISABit: true, StatusModeBit: cpsrT},
		Convention: cpu.Convention{
			StackAlign: 8, // AAPCS32 6.2.1.2
			// AAPCS32 6.1.1; the preserved d8–d15 are not tracked.
			Preserved: cpu.SetOf(R4, R5, R6, R7, R8, R9, R10, R11),
		},
		Surroundings: cpu.Surroundings{
			ThreadExit: cpu.SystemCall{Reg: R7, Number: 1},
			HookPops:   4, // gcc/config/arm/linux-eabi.h, ARM_FUNCTION_PROFILER
		},
		ELF: cpu.ELFMatch{Machine: machineARM, Class: 1},
		Layouts: map[cpu.Carrier]cpu.Layout{
			cpu.LinuxPrstatus:   prstatus(),
			cpu.LinuxSigcontext: sigcontext(),
			cpu.GDBPacket:       gdbPacket(),
			cpu.LinuxSwitch:     switched(),
			cpu.MinidumpContext: minidumpContext(),
		},
		Decoder: decoder{},
	}
}

// registers has the names of AAPCS32 6.1.1 and those of logs. DWARF numbers
// are those of "DWARF for the Arm Architecture" (AADWARF32) 4.1, which has none
// for the CPSR.
func registers() []cpu.RegInfo {
	names := [][]string{
		{"r0", "a1"}, {"r1", "a2"}, {"r2", "a3"}, {"r3", "a4"},
		{"r4", "v1"}, {"r5", "v2"}, {"r6", "v3"}, {"r7", "v4", "wr"},
		{"r8", "v5"}, {"r9", "v6", "sb", "tr"}, {"r10", "v7", "sl"},
		{"r11", "v8", "fp"}, {"r12", "ip"},
		{"sp", "r13"}, {"lr", "r14"}, {"pc", "r15"},
		{"cpsr", "psr", "xpsr"},
	}
	regs := make([]cpu.RegInfo, len(names))
	for i, n := range names {
		regs[i] = cpu.RegInfo{Names: n, DWARF: i, Size: 4}
	}
	regs[CPSR].DWARF = -1
	return regs
}

// stackPointers are those of the M profile, under the names of GDB's feature
// org.gnu.gdb.arm.m-system and of the ARMv7-M manual's pseudocode (DDI 0403).
func stackPointers() []cpu.RegInfo {
	return []cpu.RegInfo{
		{Names: []string{"msp", "sp_main"}, DWARF: -1, Size: 4},
		{Names: []string{"psp", "sp_process"}, DWARF: -1, Size: 4},
	}
}
