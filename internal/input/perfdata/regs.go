package perfdata

import (
	"math/bits"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// machine is a processor as perf knows it.
type machine struct {
	uname  string // how the name that uname -m prints begins
	wide   string // the processor's name, with programs of 64 bits; "" for none
	narrow string // with programs of 32
	mask   uint64 // the registers that perf takes unless it is asked for others
	regs   []string
}

// machines are those that perf takes user registers of (arch/*/include/uapi/asm/perf_regs.h), the longer name first.
var machines = [...]machine{
	{"x86_64", "x86_64", "i386", 0xff0fff, x86Regs},
	{"i", "", "i386", 0xfff, x86Regs},
	{"aarch64", "aarch64", "arm", 1<<33 - 1, arm64Regs},
	{"arm", "", "arm", 0xffff, armRegs},
	{"riscv64", "riscv64", "riscv32", 1<<32 - 1, riscvRegs},
	{"riscv32", "", "riscv32", 1<<32 - 1, riscvRegs},
	{"mips64", "mips64", "mips", 1<<30 - 1, mipsRegs},
	{"mips", "", "mips", 1<<30 - 1, mipsRegs},
}

// Registers by the number that perf gives them, "" for those of no use.
var (
	x86Regs = []string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "", "", "", "", "", "",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
	arm64Regs = []string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
		"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr", "sp", "pc"}
	// compatRegs are a 32-bit program's on AArch64 (arch/arm64/kernel/perf_regs.c).
	compatRegs = []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc",
		"", "", "", "", "", "", "", "", "", "", "", "", "", "", "lr", "sp"}
	armRegs   = []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"}
	riscvRegs = []string{"pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
		"s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"}
	mipsRegs = []string{"pc", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$16", "$17", "$18",
		"$19", "$20", "$21", "$22", "$23", "$24", "$25", "$28", "$29", "$30", "$31"}
)

// Values of a sample's abi.
const abiNone, abi32, abi64 = 0, 1, 2

// findMachine is the machine that a name tells or, without a name, the user or a set of registers; nil for none.
func findMachine(uname string, user *cpu.Arch, mask uint64) *machine {
	for i := range machines {
		m := &machines[i]
		switch {
		case uname != "" && strings.HasPrefix(uname, m.uname):
			return m
		case uname == "" && user != nil && (user.Name == m.wide || user.Name == m.narrow && m.wide == ""):
			return m
		case uname == "" && user == nil && m.mask == mask:
			return m
		}
	}
	return nil
}

// arch is the processor of a program whose registers have the width that abi says.
func (m *machine) arch(set cpu.Set, abi uint64, big bool) *cpu.Arch {
	name := m.wide
	if abi == abi32 || name == "" {
		name = m.narrow
	}
	a, _ := set.ByName(name, "", big)
	return a
}

// registers are those that samples have: of which processor, and which each word is; NoReg for those of no use.
type registers struct {
	abi, mask uint64
	arch      *cpu.Arch
	of        []cpu.Reg
}

// registersOf are the registers of samples with these bits; their arch is nil where there is nothing to walk.
func (m *machine) registersOf(set cpu.Set, abi, mask uint64, big bool) registers {
	r := registers{abi: abi, mask: mask, arch: m.arch(set, abi, big)}
	if r.arch == nil {
		return r
	}
	names := m.regs
	if r.arch.Name == "arm" {
		names = armRegs // programs of 32 bits on AArch64 have PC where x15 was
		if mask>>32&1 != 0 {
			names = compatRegs
		}
	}
	for ; mask != 0; mask &= mask - 1 {
		reg := cpu.NoReg
		if n := bits.TrailingZeros64(mask); n < len(names) && names[n] != "" {
			if known, ok := r.arch.RegByName(names[n]); ok {
				reg = known
			}
		}
		r.of = append(r.of, reg)
	}
	return r
}

// read reads the registers of a sample.
func (r *registers) read(words []byte, big bool, into *cpu.Registers) {
	in := bin.New(words, big)
	for _, reg := range r.of {
		if in.Len() < 8 {
			return
		}
		if v := in.U64(); reg != cpu.NoReg {
			into.Set(reg, v)
		}
	}
}
