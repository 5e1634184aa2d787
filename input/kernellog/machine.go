package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// machine is a processor as reports show it.
type machine struct{ name, abi string }

// machineOf tells by its registers, or by the stack that it shows, which processor a report is of; ok is false where
// it has none that tell.
func machineOf(r *record) (m machine, ok bool) {
	for i := range r.regs {
		switch reg := &r.regs[i]; reg.name {
		case "pstate", "x29":
			return machine{"aarch64", ""}, true
		case "psr":
			return machine{"arm", ""}, true
		case "rip", "rax":
			return machine{"x86_64", ""}, true
		case "eip", "eax":
			return machine{"i386", ""}, true
		case "tp", "gp", "badaddr":
			return riscvOf(reg.digits)
		case "epc": // RISC-V prints the place alone since Linux 5.14, and the address in a line below
			if len(r.trace.listed) > 0 && !reg.known && reg.at.symbol != "" {
				return riscvOf(digitsOf(hexOf(r.trace.listed[0].PC)))
			}
		case "$0", "$4", "$8", "$16", "$28", "badva", "hi", "lo":
			return mipsOf(reg.digits)
		}
	}
	if epc := r.reg("epc"); epc != nil && epc.known && r.reg("sp") == nil { // RISC-V prints both in a line
		return mipsOf(epc.digits)
	}
	return machineOfStack(r)
}

// machineOfStack tells a processor that prints "Stack :" (arch/mips/kernel/traps.c, show_stacktrace): a warning has no
// registers. LoongArch prints the same, and runs its kernel where no kernel of MIPS is.
//
//	Stack : 00000000 80071c28 805d0000 80567a08 00000000 00000000 00000000 00000000
func machineOfStack(r *record) (m machine, ok bool) {
	const loongArch = 9
	if !r.stack.mips || len(r.trace.listed) > 0 && r.trace.listed[0].PC>>60 == loongArch {
		return m, false
	}
	m, ok = mipsOf(r.stack.digits)
	return m, ok && r.stack.digits != 0
}

func riscvOf(digits int) (machine, bool) {
	if digits == 16 {
		return machine{"riscv64", ""}, true
	}
	return machine{"riscv32", ""}, true
}

func mipsOf(digits int) (machine, bool) {
	if digits == 16 {
		return machine{"mips64", "n64"}, true
	}
	return machine{"mips", "o32"}, true
}

// releases are words of kernels' releases that name a processor, as distributions have them:
// 6.1.0-50-arm64, 6.1.0-50-5kc-malta, 5.10.0-armmp.
var releases = [...]struct {
	word string
	machine
}{
	{"arm64", machine{"aarch64", ""}}, {"aarch64", machine{"aarch64", ""}}, {"amd64", machine{"x86_64", ""}}, {"x86_64", machine{"x86_64", ""}},
	{"armmp", machine{"arm", ""}}, {"armv7", machine{"arm", ""}}, {"armhf", machine{"arm", ""}}, {"riscv64", machine{"riscv64", ""}},
	{"5kc-malta", machine{"mips64", "n64"}}, {"4kc-malta", machine{"mips", "o32"}}, {"mips64", machine{"mips64", "n64"}}, {"mipsel-", machine{"mips", "o32"}}, {"mips-", machine{"mips", "o32"}}, {"octeon", machine{"mips64", "n64"}},
	{"-pve", machine{"x86_64", ""}}, {"686", machine{"i386", ""}}, {"i386", machine{"i386", ""}},
}

// machineFrom tells the processor by the kernel's release, and by the way in which a chain
// is written.
func machineFrom(r *record, f *facts) (m machine, ok bool) {
	for _, kernel := range [...]string{r.release, f.version, f.release} {
		for _, known := range releases {
			if kernel != "" && strings.Contains(kernel, known.word) {
				return known.machine, true
			}
		}
	}
	if m, ok := machineOfMessage(r); ok {
		return m, true
	}
	for _, l := range r.trace.listed {
		for _, known := range entrySymbols {
			switch {
			case !strings.HasPrefix(l.Symbol, known.symbol):
			case known.name == "mips" && l.PC != 0:
				return mipsOf(digitsOf(hexOf(l.PC)))
			default:
				return known.machine, true
			}
		}
		if isOfRISCV(&l) {
			return riscvOf(digitsOf(hexOf(l.PC)))
		}
	}
	switch {
	case r.trace.form.paired, r.arm:
		return machine{"arm", ""}, true
	case r.reg("pc").isNamed(), r.trace.form.lower && r.trace.hasLongAddresses():
		return machine{"aarch64", ""}, true
	}
	if m, ok := x86From(r); ok {
		return m, true
	}
	return machineOfAddresses(r)
}

// machineOfMessage tells MIPS by messages that its kernels alone begin a report with (arch/mips/kernel/traps.c), and by the
// addresses of the chain.
func machineOfMessage(r *record) (m machine, ok bool) {
	if len(r.trace.listed) == 0 || r.trace.listed[0].PC == 0 {
		return m, false
	}
	for _, s := range [...]string{"Reserved instruction in kernel code", "Break instruction in kernel code", "Trap instruction in kernel code",
		"Unhandled kernel unaligned access", "Kernel bug detected", "do_cpu invoked from kernel context", "Data bus error", "Instruction bus error"} {
		if strings.HasPrefix(r.says, s) {
			return mipsOf(digitsOf(hexOf(r.trace.listed[0].PC)))
		}
	}
	return m, false
}

// x86From tells the processor of a chain in which x86's marks stand, by the size of its addresses. Where none is
// printed, since Linux 4.10, other words tell of a processor of 32 bits (EIP, entry_INT80_32). Machines with a BIOS
// whose kernel writes "Call Trace:" are of x86, too, if the kernel is in the last 4 GB: arm64 writes "Call trace:",
// LoongArch is elsewhere, and MIPS shows the stack without registers.
func x86From(r *record) (m machine, ok bool) {
	if !r.trace.marked && (!r.trace.bios || len(r.stack.words) > 0) {
		return m, false
	}
	for _, l := range r.trace.listed {
		switch high := l.PC >> 32; {
		case l.PC == 0 || high == 1<<32-1:
		case high == 0:
			return machine{"i386", ""}, true
		default:
			return m, false
		}
	}
	if r.trace.narrow {
		return machine{"i386", ""}, true
	}
	return machine{"x86_64", ""}, true
}

// isOfRISCV tells whether RISC-V alone has a function, and its kernel printed the address: riscv_timer_interrupt. Its
// chains begin, without registers, with walk_stackframe+0x0 before Linux 5.12, and with dump_backtrace since then, where
// no kernel of arm64 is.
func isOfRISCV(l *target.Listed) bool {
	return l.PC != 0 && (strings.Contains(l.Symbol, "riscv") || l.Symbol == "walk_stackframe" && l.Offset == 0 && l.Size != 0 ||
		l.Symbol == "dump_backtrace" && l.PC>>32 == 0xffffffff)
}

// machineOfAddresses tells MIPS by the addresses of a chain, where nothing else tells: they are in the part of the
// address space that the processor itself maps, from 0x80000000 to 0x9fffffff, and where modules lie, up to
// 0xdfffffff; kernels of i386 begin at 0xc0000000. On processors of 64 bits the physical memory lies from
// 0x9800000000000000 on, cached, or from 0xa800000000000000, coherent between processors.
func machineOfAddresses(r *record) (m machine, ok bool) {
	mapped, digits := 0, 8
	for i := range r.trace.listed {
		switch pc := r.trace.listed[i].PC; {
		case pc>>29 == 4:
			mapped++
		case pc>>56 == 0x98 || pc>>56 == 0xa8:
			mapped, digits = mapped+1, 16
		case pc>>30 != 3 && pc>>62 != 3: // where modules lie
			return m, false
		}
	}
	if mapped < leastMapped || !r.trace.headed && !r.within.begins {
		return m, false
	}
	return mipsOf(digits)
}

// leastMapped is how many entries of a chain tell that it is of MIPS.
const leastMapped = 3

// machineOfAll is the processor of a log, as the first report that tells has it.
func machineOfAll(records []*record, f *facts) machine {
	for _, r := range records {
		if m, ok := machineOf(r); ok {
			return m
		}
	}
	for _, r := range records {
		if m, ok := machineFrom(r, f); ok {
			return m
		}
	}
	return machine{}
}

// entrySymbols are functions at the bottom of kernel stacks that one processor has.
var entrySymbols = [...]struct {
	symbol string
	machine
}{
	{"entry_SYSCALL_64", machine{"x86_64", ""}}, {"asm_sysvec_", machine{"x86_64", ""}}, {"do_syscall_64", machine{"x86_64", ""}},
	{"system_call_fastpath", machine{"x86_64", ""}}, {"int_ret_from_sys_call", machine{"x86_64", ""}}, {"x86_64_start_", machine{"x86_64", ""}},
	{"call_softirq", machine{"x86_64", ""}}, {"child_rip", machine{"x86_64", ""}}, {"__x64_sys_", machine{"x86_64", ""}},
	{"secondary_startup_64", machine{"x86_64", ""}}, {"ret_from_fork_asm", machine{"x86_64", ""}},
	{"entry_INT80_32", machine{"i386", ""}}, {"do_SYSENTER_32", machine{"i386", ""}}, {"sysenter_past_esp", machine{"i386", ""}},
	{"syscall_call", machine{"i386", ""}}, {"sysenter_do_call", machine{"i386", ""}},
	{"el0_svc", machine{"aarch64", ""}}, {"el0t_64", machine{"aarch64", ""}}, {"el1h_64", machine{"aarch64", ""}}, {"__arm64_sys", machine{"aarch64", ""}},
	{"ret_fast_syscall", machine{"arm", ""}}, {"__irq_svc", machine{"arm", ""}}, {"unwind_backtrace", machine{"arm", ""}},
	{"do_trap_ecall_u", machine{"riscv64", ""}}, {"__riscv_sys", machine{"riscv64", ""}},
	{"plat_irq_dispatch", machine{"mips", "o32"}}, {"except_vec_vi", machine{"mips", "o32"}},
	{"syscall_common", machine{"mips", "o32"}},
}

func isMIPS(arch *cpu.Arch) bool { return arch.Name == "mips" || arch.Name == "mips64" }

func isRISCV(arch *cpu.Arch) bool { return arch.Name == "riscv64" || arch.Name == "riscv32" }

// startsItself tells whether a chain begins where the function stood that lists it, and not
// where a call returns to: show_stack of MIPS takes its own registers
// (arch/mips/include/asm/stacktrace.h, prepare_frametrace), dump_backtrace of arm64 its own address, before Linux 5.7, and
// RISC-V's walk_stackframe begins at itself (arch/riscv/kernel/stacktrace.c, before Linux 5.12).
func startsItself(first *target.Listed, arch *cpu.Arch) bool {
	itself := first.Offset == 0 && (arch.Name == "aarch64" && first.Symbol == "dump_backtrace" || isRISCV(arch) && first.Symbol == "walk_stackframe")
	return isMIPS(arch) && first.Symbol == "show_stack" || itself
}

// printsHeader tells whether the record is of a processor whose reports of registers have a header
// in front of their chain. ARM's and RISC-V's had none before Linux 5.14 and 6.2.
func (r *record) printsHeader() bool {
	m, ok := machineOf(r)
	return ok && m.name != "arm" && m.name != "riscv64" && m.name != "riscv32"
}

// printsRegistersFirst tells whether the record is of a processor whose reports have all registers in
// front of the chain. x86 has those of interrupted code in the chain.
func (r *record) printsRegistersFirst() bool {
	m, ok := machineOf(r)
	return ok && m.name != "x86_64" && m.name != "i386"
}

// listsFrames tells whether the record is not of MIPS.
func (r *record) listsFrames() bool {
	m, _ := machineOf(r)
	return m.name != "mips" && m.name != "mips64"
}

// beginsAtPC tells whether the record is of a processor whose chains begin where the registers' PC is.
func beginsAtPC(r *record) bool {
	switch m, _ := machineOf(r); m.name {
	case "aarch64", "mips", "mips64", "riscv64", "riscv32":
		return true
	}
	return false
}

// startsAtPC tells whether the kernel's list begins where the PC is, in a report that has lost the line with
// the PC: those of arm64 with registers do.
func startsAtPC(r *record) bool {
	m, _ := machineOf(r)
	return m.name == "aarch64" && r.reg("lr", "sp") != nil
}

// leavesPCOut tells whether a record's kernel lists a stack from the caller of the PC on: RISC-V's between Linux 5.15.24 and
// 6.1 (arch/riscv/kernel/stacktrace.c, level++ >= 1).
func leavesPCOut(r *record) bool {
	if m, _ := machineOf(r); m.name != "riscv64" && m.name != "riscv32" {
		return false
	}
	var v [3]int
	for i, s := range strings.SplitN(r.release, ".", len(v)) {
		v[i] = leadingNumber(s, 0)
	}
	return v[0] == 6 && v[1] == 0 || v[0] == 5 && (v[1] > 15 || v[1] == 15 && v[2] >= 24)
}

// trapsToWarn tells whether the record is of a warning that a trap of x86 raised, or of a crash that shows its PC behind
// the chain only: the PC was there.
func trapsToWarn(r *record) bool {
	m, _ := machineOf(r)
	called := slices.ContainsFunc(r.trace.listed, func(l target.Listed) bool { return printsWarnings(l.Symbol) && !l.Doubtful })
	return r.at.symbol != "" && (m.name == "x86_64" || m.name == "i386" || r.trace.repeated) && !called
}
