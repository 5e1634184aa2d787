package vmcore

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// A processor that stops when an interrupt is due has entered the exception vector already, as QEMU's
// does for "stop": the PC is that of the vector's first instruction, and all other registers are still those of the
// code that was interrupted. Where that code stands is in another register, which debuggers print, too:
//
//	pc=0x801b6200 … CP0 Status 0x3400a403 … EPC 0x81da8310      MIPS, QEMU's "info registers"
//	pc  ffffffff80a7662c … sepc  ffffffff80a5a88e               RISC-V

// leaveVector makes a processor's registers those of the code that was interrupted, if the processor stands at a vector's
// first instruction and epc, the exception PC, is known (not 0); said tells that.
func (v *view) leaveVector(arch *cpu.Arch, regs *cpu.Registers, epc uint64) (said string) {
	pc := regs.Val[arch.PC]
	perm, mapped := v.space.memory.PermAt(epc)
	if epc == 0 || !mapped || perm&target.PermExec == 0 || !v.isVector(arch, pc) {
		return ""
	}
	regs.Set(arch.PC, epc)
	return fmt.Sprintf("the processor was about to run the exception vector at %#x: its registers are those of the code at %#x, which was interrupted", pc, epc)
}

// isVector tells whether an exception vector begins at an address.
func (v *view) isVector(arch *cpu.Arch, pc uint64) bool {
	is := machineOf(arch).isVector
	return is != nil && is(v, arch, pc)
}

// vectorARM64: arm64 has 16 vectors, 0x80 bytes apart (DDI 0487, D1.3.1); those four of the kernel itself, from 0x200 on,
// begin with making room for struct pt_regs (arch/arm64/kernel/entry.S, kernel_ventry).
func vectorARM64(v *view, _ *cpu.Arch, pc uint64) bool {
	const own, ownEnd, apart, table = 0x200, 0x400, 0x80, 0x800
	at := pc % table
	same := at >= own && at < ownEnd && at%apart == 0 && v.kernel.text.Contains(pc)
	for off := uint64(own); off < ownEnd && same; off += apart {
		insn, ok := v.space.memory.Uint(pc-at+off, 4)
		const subSP, immediate = 0xd100_03ff, 0xfff << 10 // sub sp,sp,#…
		same = ok && insn&^immediate == subSP
	}
	return same
}

// vectorRISCV: Linux for RISC-V has one vector, which begins with an exchange of tp and sscratch
// (arch/riscv/kernel/entry.S).
func vectorRISCV(v *view, _ *cpu.Arch, pc uint64) bool {
	const swapTP = 0x1402_1273 // csrrw tp,sscratch,tp
	insn, ok := v.space.memory.Uint(pc, 4)
	return ok && insn == swapTP
}

// vectorMIPS: MIPS has its vectors 0x80 bytes apart and, for interrupts, a multiple of 32 (MD00090, 6.2); the kernel makes
// their code in a page of their own (trap_init), which is not mapped by tables, as modules are.
func vectorMIPS(v *view, arch *cpu.Arch, pc uint64) bool {
	at := pc % 0x1000
	kernel := v.kernel.text
	return kernel.Hi > kernel.Lo && !kernel.Contains(pc) && isUnmapped(arch, pc) && (at < 0x200 && at%0x80 == 0 || at >= 0x200 && at%32 == 0)
}

// isUnmapped tells whether an address of MIPS is one of kseg0, ckseg0 or xkphys.
func isUnmapped(arch *cpu.Arch, addr uint64) bool {
	return uint32(addr)>>29 == 4 && (arch.AddrSize == 4 || addr>>32 == 0xffff_ffff) || arch.AddrSize == 8 && addr>>62 == 2
}
