package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/target"
)

// machine is a processor as its kernels' reports show it. What reports of processors differ in is a column here: code asks
// for what a report has, and for no processor's name.
type machine struct {
	name, abi string
	// family and wide find the row by the digits of a register: 16 are wide.
	family string
	wide   bool
	// registers are those that the reports of no other family have; of those in a row of together all or none are printed.
	registers string
	together  [3]string
	traits    traits
	// lister is the function that chains of no registers begin with, which lists them.
	lister string
	// withoutPC are the releases, from the first until before the second, whose chains begin with the caller of the PC
	// (arch/riscv/kernel/stacktrace.c, level++ >= 1); marked is the first release that marks words of the stack that no
	// frame led to.
	withoutPC [2]kernelVersion
	marked    kernelVersion
	// stackWords is how many words of the stack are printed at most, 0: as many as there are.
	stackWords int
	// savedRegisters is the size of struct pt_regs, at the end of a stack of stackSize bytes.
	savedRegisters, stackSize uint64
}

// traits are what reports of a processor have.
type traits uint16

const (
	// headed: "Call Trace:" stands in front of each chain, in all releases.
	headed traits = 1 << iota
	// listsAtPC: a chain begins where the registers say that the processor stood.
	listsAtPC
	// listsAtLostPC: it does so where the line with that register was lost.
	listsAtLostPC
	// listsAnywhere: the lister takes its own registers somewhere in it; else it takes its own beginning.
	listsAnywhere
	// pairs: a chain begins with the name of the PC's function, and each entry names a callee and a caller. The link register
	// may be stale, for functions come back by loading the PC.
	pairs
	// registersWithin: registers of what was interrupted stand within the chain, and a warning is a trap, which has a PC.
	registersWithin
	// listsInterrupted: what stands behind the entry code of exceptions is the place that was interrupted.
	listsInterrupted
	// firstByFrame: the first entry behind the PC is the one that the frame pointer leads to.
	firstByFrame
	// framePointers: all functions keep frame pointers, so that no call is a jump, and the chain goes on at the frame pointer
	// of what an exception interrupted.
	framePointers
	// searches: where a prologue cannot be read, the chain is each word of the stack that points to code.
	searches
)

// What all rows of a family have: MIPS, x86 and RISC-V.
const (
	ofMIPS  = headed | listsAtPC | listsAnywhere | searches
	ofX86   = headed | registersWithin | listsInterrupted
	ofRISCV = listsAtPC | framePointers
)

// machines are the processors. The first row stands for one that is not known.
//
// MIPS has in struct pt_regs (arch/mips/include/asm/ptrace.h) 32 registers, status, lo, hi, badvaddr, cause and epc, with 8
// words of arguments in front in o32. Its stacks have two pages of 4 KB, with 64 bits four (thread_info.h, THREAD_SIZE_ORDER).
// It prints 40 words of the stack and an ellipsis (arch/mips/kernel/traps.c, show_stacktrace).
var machines = [...]machine{
	{},
	{name: "aarch64", registers: "pstate x29", together: [3]string{"pc lr sp", "x0-29"},
		traits: headed | listsAtPC | listsAtLostPC, lister: "dump_backtrace"},
	{name: "arm", registers: "psr", together: [3]string{"pc lr sp", "r0-10"}, traits: pairs | listsInterrupted},
	{name: "x86_64", family: "x86", wide: true, registers: "rip rax", together: [3]string{"rip rsp rax rbx rcx rdx rsi rdi rbp", "r10-15"},
		traits: ofX86, marked: kernelVersion{2, 6, 25}},
	{name: "i386", family: "x86", registers: "eip eax", traits: ofX86 | firstByFrame, marked: kernelVersion{2, 6, 25}},
	{name: "mips", abi: "o32", family: "mips", registers: "$0 $4 $8 $16 $28 badva hi lo", together: [3]string{"$28 $29 $30 $31 epc ra $0-25"},
		traits: ofMIPS, lister: "show_stack", stackWords: 40, savedRegisters: (8 + 32 + 6) * 4, stackSize: 2 * minPage},
	{name: "mips64", abi: "n64", family: "mips", wide: true, registers: "$0 $4 $8 $16 $28 badva hi lo", together: [3]string{"$28 $29 $30 $31 epc ra $0-25"},
		traits: ofMIPS, lister: "show_stack", stackWords: 40, savedRegisters: (32 + 6) * 8, stackSize: 4 * minPage},
	{name: "riscv32", family: "riscv", registers: "tp gp badaddr", together: [3]string{"epc ra sp gp tp", "a0-7", "s2-11"},
		traits: ofRISCV, lister: "walk_stackframe", withoutPC: [2]kernelVersion{{5, 15, 24}, {6, 1}}},
	{name: "riscv64", family: "riscv", wide: true, registers: "tp gp badaddr", together: [3]string{"epc ra sp gp tp", "a0-7", "s2-11"},
		traits: ofRISCV, lister: "walk_stackframe", withoutPC: [2]kernelVersion{{5, 15, 24}, {6, 1}}},
}

// machineNamed is the row of a processor.
func machineNamed(name string) *machine {
	i := slices.IndexFunc(machines[:], func(m machine) bool { return m.name == name })
	return &machines[max(i, 0)]
}

// sized is the row of a family whose registers are printed with so many digits.
func sized(family string, digits int) *machine {
	for i := range machines {
		if m := &machines[i]; m.family == family && m.wide == (digits == 16) {
			return m
		}
	}
	return &machines[0]
}

// withRegister is the row of the processor whose reports alone have a register, nil for none. Registers of x86 tell their
// size by their names, others by their digits.
func withRegister(name string, digits int) *machine {
	for i := range machines {
		m := &machines[i]
		for own := range strings.FieldsSeq(m.registers) {
			switch {
			case own != name:
			case m.family == "" || m.family == "x86":
				return m
			default:
				return sized(m.family, digits)
			}
		}
	}
	return nil
}

func (m *machine) known() bool { return m.name != "" }

func (m *machine) has(t traits) bool { return m.traits&t != 0 }

// leavesPCOut tells whether a kernel of a release lists a stack from the caller of the PC on.
func (m *machine) leavesPCOut(version kernelVersion) bool {
	return !version.before(m.withoutPC[0]) && version.before(m.withoutPC[1])
}

// listsUnmarked tells whether a kernel of a release lists each word of the stack that points to code, and marks none.
func (m *machine) listsUnmarked(name string) bool {
	version := releaseOf(name)
	return version[0] == 2 && version.before(m.marked)
}

// listsItself tells whether a chain begins where the function stood that lists it, and not where a call returns to: show_stack
// of MIPS takes its own registers (arch/mips/include/asm/stacktrace.h, prepare_frametrace), dump_backtrace of arm64 its own
// address, before Linux 5.7, and RISC-V's walk_stackframe begins at itself (arch/riscv/kernel/stacktrace.c, before Linux 5.12).
func (m *machine) listsItself(first *target.Listed) bool {
	return m.lister != "" && first.Symbol == m.lister && (first.Offset == 0 || m.has(listsAnywhere))
}
