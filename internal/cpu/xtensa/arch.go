// Package xtensa describes Xtensa with the windowed ABI, as ESP32's first chips and many audio DSPs have that: registers, and no
// decoder. A call moves the window on the registers, and the windows of callers lie on the stack at known places (Xtensa Instruction
// Set Architecture Reference Manual, 4.7.1 and 8.1), so that readers of captures list the callers; rules are made of no code.
package xtensa

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
)

// Registers: the 16 of the window, then the PC.
const (
	A0 cpu.Reg = iota // the return address, with the call's window increment in its upper two bits
	A1                // the stack pointer
	PC cpu.Reg = 16

	numRegs = 17
)

// machine is EM_XTENSA.
const machine = 94

// Archs has the ABI. No register has a number in call frame information: what assemblers write of windowed code says that nothing
// is saved, and knows of no window.
func Archs() []*cpu.Arch {
	regs := make([]cpu.RegInfo, numRegs)
	for i := range regs {
		regs[i] = cpu.RegInfo{Names: []string{fmt.Sprintf("a%d", i)}, DWARF: -1, Size: 4}
	}
	regs[A1].Names = append(regs[A1].Names, "sp")
	regs[PC].Names = []string{"pc"}
	return []*cpu.Arch{{
		Name: "xtensa", ABI: "windowed", AddrSize: 4, RegSize: 4,
		RegisterFile: cpu.RegisterFile{
			Regs: regs,
			PC:   PC, SP: A1, FP: cpu.NoReg, LR: A0, Status: cpu.NoReg, Zero: cpu.NoReg,
		},
		CodeAddresses: cpu.CodeAddresses{InsnAlign: 1},
		Convention:    cpu.Convention{StackAlign: 16},
		ELF:           cpu.ELFMatch{Machine: machine, Class: 1},
	}}
}
