package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/target"
)

// processorOf tells by its registers, or by the stack that it shows, which processor a report is of.
func processorOf(r *record) *machine {
	for i := range r.regs {
		reg := &r.regs[i]
		// RISC-V prints the place alone since Linux 5.14, and the address in a line below
		if reg.name == "epc" && len(r.trace.listed) > 0 && !reg.known && reg.at.symbol != "" {
			return sized("riscv", digitsOf(hexOf(r.trace.listed[0].PC)))
		}
		if m := withRegister(reg.name, reg.digits); m != nil {
			return m
		}
	}
	if epc := r.reg("epc"); epc != nil && epc.known && r.reg("sp") == nil { // RISC-V prints both in a line
		return sized("mips", epc.digits)
	}
	return processorOfStack(r)
}

// processorOfStack tells a processor that prints "Stack :" (arch/mips/kernel/traps.c, show_stacktrace): a warning has no
// registers. LoongArch prints the same, and runs its kernel where no kernel of MIPS is.
//
//	Stack : 00000000 80071c28 805d0000 80567a08 00000000 00000000 00000000 00000000
func processorOfStack(r *record) *machine {
	const loongArch = 9
	if !r.stack.mips || r.stack.digits == 0 || len(r.trace.listed) > 0 && r.trace.listed[0].PC>>60 == loongArch {
		return machineNamed("")
	}
	return sized("mips", r.stack.digits)
}

// unsupported names the record's processor where no machine is that; "" elsewhere. RISC-V and MIPS have names of registers that
// LoongArch has, too; all other machines are told by their own.
func (r *record) unsupported() string {
	if m := processorOf(r); m.known() && m.family != "riscv" && m.family != "mips" {
		return ""
	}
	return r.foreign
}

// releases are words of kernels' releases that name a processor, as distributions have them:
// 6.1.0-50-arm64, 6.1.0-50-5kc-malta, 5.10.0-armmp.
var releases = [...]struct{ machine, words string }{
	{"aarch64", "arm64 aarch64"}, {"x86_64", "amd64 x86_64"}, {"arm", "armmp armv7 armhf"}, {"riscv64", "riscv64"},
	{"mips64", "5kc-malta"}, {"mips", "4kc-malta"}, {"mips64", "mips64"}, {"mips", "mipsel- mips-"}, {"mips64", "octeon"},
	{"x86_64", "-pve"}, {"i386", "686 i386"},
}

// entrySymbols are how names of functions begin at the bottom of kernel stacks that one processor has.
var entrySymbols = [...]struct{ machine, symbols string }{
	{"x86_64", "entry_SYSCALL_64 asm_sysvec_ asm_exc_ do_syscall_64 system_call_fastpath int_ret_from_sys_call x86_64_start_ call_softirq child_rip __x64_sys_ secondary_startup_64 ret_from_fork_asm"},
	{"i386", "entry_INT80_32 do_SYSENTER_32 sysenter_past_esp syscall_call sysenter_do_call"},
	{"aarch64", "el0_svc el0t_64 el1h_64 __arm64_sys __kvm_nvhe_"},
	{"arm", "ret_fast_syscall __irq_svc unwind_backtrace"},
	{"riscv64", "do_trap_ecall_u __riscv_sys"},
	{"mips", "plat_irq_dispatch except_vec_vi syscall_common"},
}

// messagesOfMIPS are how reports begin that kernels of MIPS alone print (arch/mips/kernel/traps.c).
var messagesOfMIPS = [...]string{"Reserved instruction in kernel code", "Break instruction in kernel code", "Trap instruction in kernel code",
	"Unhandled kernel unaligned access", "Kernel bug detected", "do_cpu invoked from kernel context", "Data bus error", "Instruction bus error"}

// processorFrom tells the processor by the kernel's release, and by the way in which a chain
// is written.
func processorFrom(r *record, f *facts) *machine {
	for _, kernel := range [...]string{r.release, f.version, f.release} {
		for _, known := range releases {
			if kernel != "" && slices.ContainsFunc(strings.Fields(known.words), func(w string) bool { return strings.Contains(kernel, w) }) {
				return machineNamed(known.machine)
			}
		}
	}
	listed := r.trace.listed
	if len(listed) > 0 && listed[0].PC != 0 && slices.ContainsFunc(messagesOfMIPS[:], func(s string) bool { return strings.HasPrefix(r.says, s) }) {
		return sized("mips", digitsOf(hexOf(listed[0].PC)))
	}
	for i := range listed {
		l := &listed[i]
		if m := processorOfEntry(l); m.known() {
			return m
		}
		if isOfRISCV(l) {
			return sized("riscv", digitsOf(hexOf(l.PC)))
		}
	}
	switch {
	case r.trace.form.paired, r.arm:
		return machineNamed("arm")
	case r.reg("pc").isNamed(), r.trace.form.lower && r.trace.hasLongAddresses():
		return machineNamed("aarch64")
	}
	if m := x86From(r); m.known() {
		return m
	}
	return processorOfAddresses(r)
}

// processorOfEntry tells the processor by an entry of a chain.
func processorOfEntry(l *target.Listed) *machine {
	for _, known := range entrySymbols {
		for symbol := range strings.FieldsSeq(known.symbols) {
			if !strings.HasPrefix(l.Symbol, symbol) {
				continue
			}
			m := machineNamed(known.machine)
			if m.family == "mips" && l.PC != 0 {
				return sized(m.family, digitsOf(hexOf(l.PC)))
			}
			return m
		}
	}
	return machineNamed("")
}

// x86From tells the processor of a chain in which x86's marks stand, by the size of its addresses. Where none is
// printed, since Linux 4.10, other words tell of a processor of 32 bits (EIP, entry_INT80_32). Machines with a BIOS
// whose kernel writes "Call Trace:" are of x86, too, if the kernel is in the last 4 GB: arm64 writes "Call trace:",
// LoongArch is elsewhere, and MIPS shows the stack without registers.
func x86From(r *record) *machine {
	if !r.trace.marked && (!r.trace.bios || len(r.stack.words) > 0) {
		return machineNamed("")
	}
	for _, l := range r.trace.listed {
		switch high := l.PC >> 32; {
		case l.PC == 0 || high == 1<<32-1:
		case high == 0:
			return machineNamed("i386")
		default:
			return machineNamed("")
		}
	}
	if r.trace.narrow {
		return machineNamed("i386")
	}
	return machineNamed("x86_64")
}

// isOfRISCV tells whether RISC-V alone has a function, and its kernel printed the address: riscv_timer_interrupt. Its
// chains begin, without registers, with walk_stackframe+0x0 before Linux 5.12, and with dump_backtrace since then, where
// no kernel of arm64 is.
func isOfRISCV(l *target.Listed) bool {
	return l.PC != 0 && (strings.Contains(l.Symbol, "riscv") || l.Symbol == "walk_stackframe" && l.Offset == 0 && l.Size != 0 ||
		l.Symbol == "dump_backtrace" && l.PC>>32 == 0xffffffff)
}

// processorOfAddresses tells MIPS by the addresses of a chain, where nothing else tells: they are in the part of the
// address space that the processor itself maps, from 0x80000000 to 0x9fffffff, and where modules lie, up to
// 0xdfffffff; kernels of i386 begin at 0xc0000000. On processors of 64 bits the physical memory lies from
// 0x9800000000000000 on, cached, or from 0xa800000000000000, coherent between processors.
func processorOfAddresses(r *record) *machine {
	mapped, digits := 0, 8
	for i := range r.trace.listed {
		switch pc := r.trace.listed[i].PC; {
		case pc>>29 == 4:
			mapped++
		case pc>>56 == 0x98 || pc>>56 == 0xa8:
			mapped, digits = mapped+1, 16
		case pc>>30 != 3 && pc>>62 != 3: // where modules lie
			return machineNamed("")
		}
	}
	if mapped < leastMapped || !r.trace.headed && !r.within.begins {
		return machineNamed("")
	}
	return sized("mips", digits)
}

// leastMapped is how many entries of a chain tell that it is of MIPS.
const leastMapped = 3

// processorOfAll is the processor of a log, as the first report that tells has it.
func processorOfAll(records []*record, f *facts) *machine {
	for _, r := range records {
		if m := processorOf(r); m.known() {
			return m
		}
	}
	for _, r := range records {
		if m := processorFrom(r, f); m.known() {
			return m
		}
	}
	return machineNamed("")
}

// listsFrames tells whether a chain of the record has frames, and not whatever the stack had.
func (r *record) listsFrames() bool { return !processorOf(r).has(searches) }

// trapsToWarn tells whether the record is of a warning that a trap of x86 raised, or of a crash that shows its PC behind
// the chain only: the PC was there.
func trapsToWarn(r *record) bool {
	called := slices.ContainsFunc(r.trace.listed, func(l target.Listed) bool { return printsWarnings(l.Symbol) && !l.Doubtful })
	return r.at.symbol != "" && (processorOf(r).has(registersWithin) || r.trace.repeated) && !called
}
