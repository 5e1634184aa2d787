package kernellog

import (
	"strings"
)

// machine is a processor as reports show it.
type machine struct{ name, abi string }

// machineOf tells by its registers which processor a report is of; ok is false where it has
// none that tell.
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
		case "tp", "badaddr":
			return riscvOf(reg.digits)
		case "$0", "$4", "$8", "$16", "$28", "badva":
			return mipsOf(reg.digits)
		}
	}
	return m, false
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
	{"5kc-malta", machine{"mips64", "n64"}}, {"4kc-malta", machine{"mips", "o32"}}, {"mips64", machine{"mips64", "n64"}}, {"octeon", machine{"mips64", "n64"}},
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
	for _, l := range r.trace.listed {
		for _, known := range entrySymbols {
			if strings.HasPrefix(l.Symbol, known.symbol) {
				return known.machine, true
			}
		}
	}
	return x86From(r)
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
	{"syscall_common", machine{"mips", "o32"}},
}
