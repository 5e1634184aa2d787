package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// savesRegisters tells whether a function is entered by an exception in the kernel and
// saves all registers of what the exception interrupted.
func savesRegisters(symbol string) bool {
	return !strings.HasSuffix(symbol, "_handler") && phrases.Begins(symbol, "el1_sync", "el1_irq", "el1_fiq", "el1_error", "el1_da", "el1_ia", "el1_sp_pc", "el1_undef", "el1_dbg", "el1_inv", // arm64: entry.S
		"el1h_64_", "el1t_64_", "__bad_stack", // since Linux 5.12
		"__irq_svc", "__dabt_svc", "__pabt_svc", "__und_svc", "__fiq_svc", // ARM: entry-armv.S
		"handle_int", "handle_ri_int", "ret_from_irq", "ret_from_exception", "except_vec", "tlb_do_page_fault", "handle_adel", "handle_ades", // MIPS: genex.S
		"handle_exception") // RISC-V: entry.S
}

// isRoot tells whether a function is where kernel stacks begin: at the entry of system calls
// and of exceptions of user space, or of a new thread.
func isRoot(symbol string) bool {
	return !strings.HasSuffix(symbol, "_handler") && phrases.Begins(symbol, "ret_from_fork", "ret_from_kernel_thread", "ret_from_kernel_user_thread",
		"el0t_64_", "el0t_32_", "el0_sync", "el0_irq", "el0_svc_naked", "el0_error_naked", "__primary_switched", "__secondary_switched", // arm64
		"ret_fast_syscall", "ret_slow_syscall", "slow_work_pending", "work_pending", "work_resched", "no_work_pending", "ret_to_user", "__sys_trace_return", "kernel_thread_exit", "__irq_usr", "__dabt_usr", "__pabt_usr", "__und_usr", // ARM
		"syscall_common", "handle_sys", "kernel_entry", "smp_bootstrap", "stack_done", // MIPS
		"entry_SYSCALL_64", "entry_SYSCALL_compat", "entry_SYSENTER", "entry_INT80", "secondary_startup_64", "startup_32_smp", // x86
		"system_call", "int_ret_from_sys_call", "int_signal", "retint_signal", "retint_user", "tracesys", "ia32_sysret", "child_rip", // x86-64 before Linux 4.1
		"sysenter_past_esp", "sysenter_do_call", "resume_userspace", "syscall_call", "kernel_thread_helper", // i386 before Linux 4.1
		"ret_from_syscall", "_start_kernel") // RISC-V
}

// isTrampoline tells whether a function is a tracer's, to which traced functions return: the
// function graph tracer's, and that of return probes. No call stands before it, and who called
// the function is not known.
func isTrampoline(symbol string) bool {
	return slices.Contains([]string{"return_to_handler", "kretprobe_trampoline", "__kretprobe_trampoline", "arch_rethook_trampoline"}, symbol)
}

// entersKernel tells whether a symbol is entry code of exceptions and interrupts on x86 before Linux 5.8
// (arch/x86/entry/entry_64.S, entry_32.S).
func entersKernel(symbol string) bool {
	return slices.Contains([]string{"page_fault", "async_page_fault", "general_protection", "invalid_op", "divide_error", "int3", "nmi", "error_code", "ret_from_intr",
		"common_interrupt", "apic_timer_interrupt", "reschedule_interrupt", "call_function_interrupt", "call_function_single_interrupt"}, symbol)
}

// isReturnedTo tells whether handlers of exceptions return to where a function begins: MIPS and RISC-V set the link
// register to it and jump (arch/riscv/kernel/entry.S, la ra, ret_from_exception).
func isReturnedTo(symbol string) bool {
	return slices.Contains([]string{"ret_from_exception", "ret_from_irq", "resume_userspace_check", "ret_from_syscall"}, symbol)
}

// printsStacks tells whether a function is one by which kernels print stacks (lib/dump_stack.c). Where a chain ends there, lines
// were lost.
func printsStacks(symbol string) bool {
	return symbol == "show_stack" || symbol == "dump_stack" || phrases.Begins(symbol, "dump_stack_lvl")
}

// printsWarnings tells whether a function is one that WARN calls (kernel/panic.c).
func printsWarnings(symbol string) bool {
	return symbol == "__warn" || strings.HasPrefix(symbol, "warn_slowpath_")
}
