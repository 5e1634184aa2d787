package kernellog

import "github.com/backsight/backsight/cpu"

// savedRegisters is the size of struct pt_regs (arch/mips/include/asm/ptrace.h): 32 registers, and CP0's status, lo, hi,
// badvaddr, cause and epc; o32 has 8 words of arguments in front.
func savedRegisters(arch *cpu.Arch) uint64 {
	if arch.AddrSize == 4 {
		return (8 + 32 + 6) * 4
	}
	return (32 + 6) * 8
}

// keptFree is how many bytes at the end of a stack are free (arch/mips/include/asm/stackframe.h, set_saved_sp).
const keptFree = 32

// servesUser tells whether a record may be of a task that user space called: neither of an idle one nor of a worker.
func servesUser(r *record) bool { return r.pid != 0 && r.work.symbol == "" }

// enteredAt is where the registers of user space lie on the stack that SP of MIPS points to, 0 where the registers do
// not tell. gp ($28) is where the stack begins; a stack has two pages of 4 KB for processors of 32 bits, four for those
// of 64 bits (arch/mips/include/asm/thread_info.h, THREAD_SIZE_ORDER).
func enteredAt(arch *cpu.Arch, regs *cpu.Registers) uint64 {
	gp, known := arch.RegByName("gp")
	if !isMIPS(arch) || !known {
		return 0
	}
	sp, has := regs.Lookup(arch.SP)
	size := uint64(minPage * 2)
	if arch.AddrSize == 8 {
		size = minPage * 4
	}
	base, ok := regs.Lookup(gp)
	if !ok {
		base = sp &^ (size - 1) // pages of a stack are allocated together, of that alignment
	}
	if !has || base == 0 || base%minPage != 0 || sp-base >= size {
		return 0
	}
	return base + size - keptFree - savedRegisters(arch)
}
