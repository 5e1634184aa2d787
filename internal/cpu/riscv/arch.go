// Package riscv describes RV32 and RV64 and decodes their instructions to
// their effects on a stack.
//
// Encodings follow the RISC-V Instruction Set Manual (unprivileged and
// privileged), register roles and ELF flags the RISC-V ELF psABI.
package riscv

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
)

// Registers by their place in the descriptor: x0..x31, then the PC.
const (
	Zero cpu.Reg = 0
	RA   cpu.Reg = 1
	SP   cpu.Reg = 2
	GP   cpu.Reg = 3
	TP   cpu.Reg = 4
	T0   cpu.Reg = 5
	T1   cpu.Reg = 6
	S0   cpu.Reg = 8
	S1   cpu.Reg = 9
	A0   cpu.Reg = 10
	S2   cpu.Reg = 18
	S11  cpu.Reg = 27
	PC   cpu.Reg = 32
	// SSP points to the newest entry of the shadow stack (Zicfiss); a CSR.
	SSP cpu.Reg = 33

	numRegs = 34
)

// From the psABI, "ELF Object Files": e_machine, and e_flags. The float ABI is
// a two-bit number (soft, single, double, quad) at bits 1 and 2, so bit 2 says
// that double registers hold arguments.
const (
	machine   = 243
	flagFloat = 4
	flagRVE   = 8
)

// variant is what tells the ABIs apart.
type variant struct {
	name, abi  string
	word       int
	double     bool // the ABI passes doubles in registers: the D extension is there
	embedded   bool // RV32E: registers up to x15, s0 and s1 preserved
	stackAlign uint64
}

// Archs returns the descriptors of the family. The first of each name is the
// default when nothing tells the ABI: RV64 is mostly Linux and has D, RV32
// mostly firmware without it. Single-float binaries count as the soft ABI.
func Archs() []*cpu.Arch {
	variants := []variant{
		{name: "riscv64", abi: "lp64d", word: 8, double: true, stackAlign: 16},
		{name: "riscv64", abi: "lp64", word: 8, stackAlign: 16},
		{name: "riscv32", abi: "ilp32", word: 4, stackAlign: 16},
		{name: "riscv32", abi: "ilp32d", word: 4, double: true, stackAlign: 16},
		{name: "riscv32", abi: "ilp32e", word: 4, embedded: true, stackAlign: 4},
	}
	var archs []*cpu.Arch
	for i, v := range variants {
		a := v.describe()
		if i > 0 && variants[i-1].word == v.word && !v.embedded {
			a.Regs, a.Layouts = archs[i-1].Regs, archs[i-1].Layouts
		} else {
			a.Regs, a.Layouts = registers(v.word), v.layouts()
		}
		archs = append(archs, a)
	}
	return archs
}

func (v variant) describe() *cpu.Arch {
	w := int64(v.word)
	return &cpu.Arch{
		Name: v.name, ABI: v.abi,
		AddrSize: v.word, RegSize: v.word,
		RegisterFile: cpu.RegisterFile{
			PC: PC, SP: SP, FP: S0, LR: RA, Status: cpu.NoReg, Zero: Zero,
		},
		// 2 even for binaries whose flags lack RVC: libraries written in
		// assembly may have compressed code all the same.
		CodeAddresses: cpu.CodeAddresses{InsnAlign: 2},
		Convention: cpu.Convention{
			StackAlign: v.stackAlign,
			Preserved:  v.preserved(),
			Platform:   cpu.SetOf(GP, SSP),
			// psABI, "Frame Pointer Convention": s0 holds the CFA.
			FPChain: &cpu.FPChain{SavedFP: -2 * w, SavedRA: -w, CFA: 0},
		},
		Surroundings: cpu.Surroundings{ThreadExit: cpu.SystemCall{Reg: A0 + 7, Number: 93}},
		ELF:          v.elf(),
		// Zcmp shares its encodings with c.fsdsp, so a binary has one or the
		// other. The double ABI cannot do without D, whose compressed form the C
		// extension brings along: there it is c.fsdsp. The other ABIs have no
		// doubles to push and read it as Zcmp.
		Decoder: decoder{isa{rv64: v.word == 8, zcmp: !v.double}},
	}
}

func (v variant) preserved() cpu.RegSet {
	if v.embedded {
		return cpu.SetOf(S0, S1)
	}
	return cpu.SetOf(S0, S1) | savedFrom2
}

// savedFrom2 is s2..s11.
const savedFrom2 cpu.RegSet = 1<<(S11+1) - 1<<S2

func (v variant) elf() cpu.ELFMatch {
	m := cpu.ELFMatch{Machine: machine, Class: 1, Mask: flagFloat}
	if v.word == 8 {
		m.Class = 2
	}
	if v.double {
		m.Flags = flagFloat
	}
	if v.embedded {
		m.Mask |= flagRVE
		m.Flags = flagRVE
	}
	return m
}

// registers gives each register its ABI name, then xN. ESP-IDF prints "s0/fp";
// the PC goes by the exception CSR that held it in most fault dumps.
func registers(word int) []cpu.RegInfo {
	names := [...]string{
		"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1",
		"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
		"s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
		"t3", "t4", "t5", "t6",
	}
	regs := make([]cpu.RegInfo, numRegs)
	for i, n := range names {
		regs[i] = cpu.RegInfo{Names: []string{n, fmt.Sprintf("x%d", i)}, DWARF: i, Size: word}
	}
	regs[S0].Names = append(regs[S0].Names, "fp", "s0/fp")
	regs[PC] = cpu.RegInfo{Names: []string{"pc", "epc", "mepc", "sepc", "uepc", "xepc"}, DWARF: -1, Size: word}
	regs[SSP] = cpu.RegInfo{Names: []string{"ssp"}, DWARF: -1, Size: word}
	return regs
}
