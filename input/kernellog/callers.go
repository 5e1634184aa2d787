package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Some functions of the kernel have one caller only, and some never call a module. Where a chain says otherwise, the
// line between was lost.
//
//	toy_write+0x5d/0x80 [toy]
//	ksys_write+0x4a/0xb4              calls vfs_write, which calls what the module registered

// onlyCallers are such functions, and what their callers' names begin with (kernel/workqueue.c, kernel/kthread.c,
// kernel/panic.c, lib/bug.c).
var onlyCallers = [...]struct {
	callee  string
	callers []string
}{
	{"process_one_work", []string{"worker_thread", "rescuer_thread", "process_scheduled_works", "bh_worker"}},
	{"worker_thread", []string{"kthread"}},
	{"rescuer_thread", []string{"kthread"}},
	{"__warn", []string{"warn_slowpath_", "report_bug", "__report_bug"}},
	{"kthread", []string{"ret_from_", "kernel_thread_", "child_rip"}}, // the latter before Linux 3.7
}

// doubtCallers marks entries that did not call the entry before them. work is the function that the report says the task
// executes for a workqueue.
func doubtCallers(listed []target.Listed, work *place, arch *cpu.Arch) {
	var inner *target.Listed // the last entry that is not doubted
	for i := range listed {
		l := &listed[i]
		if l.Doubtful || l.Symbol == "" {
			continue
		}
		if inner != nil && (isNoCaller(l, inner) || isRISCV(arch) && (isNoSystemCall(l, inner) || isNoWork(l, inner, work))) {
			l.Gap = true
		}
		inner = l
	}
}

// isNoCaller tells whether an entry is of a function that does not call the one of inner.
func isNoCaller(l, inner *target.Listed) bool {
	never := false
	switch l.Symbol {
	case "ksys_read", "ksys_write", "worker_thread", "rescuer_thread":
		never = inner.Module != ""
	case "syscall_common", "handle_sys": // MIPS
		never = inner.Symbol == "vfs_read" || inner.Symbol == "vfs_write"
	}
	if never || inner.Module != "" {
		return never
	}
	for _, o := range onlyCallers {
		if o.callee == inner.Symbol {
			return !slices.ContainsFunc(o.callers, func(s string) bool { return strings.HasPrefix(l.Symbol, s) })
		}
	}
	return false
}

// isNoWork tells whether an entry executes a work that inner is not. On RISC-V no call is a jump.
func isNoWork(l, inner *target.Listed, work *place) bool {
	return l.Symbol == "process_one_work" && work.symbol != "" && inner.Symbol != work.symbol && inner.Module == work.module
}

// isNoSystemCall tells whether RISC-V's entry code does not call the function of inner, since Linux 6.6. Its kernels keep
// frame pointers, and so no call is a jump:
//
//	ksys_write ◄ __riscv_sys_write ◄ do_trap_ecall_u ◄ handle_exception
func isNoSystemCall(l, inner *target.Listed) bool {
	file := strings.HasPrefix(inner.Symbol, "ksys_") || strings.HasPrefix(inner.Symbol, "vfs_")
	switch l.Symbol {
	case "__riscv_sys_read", "__riscv_sys_write":
		return inner.Module != "" || strings.HasPrefix(inner.Symbol, "vfs_")
	case "do_trap_ecall_u":
		return inner.Module != "" || file
	case "handle_exception", "ret_from_exception":
		return inner.Module != "" || file || strings.HasPrefix(inner.Symbol, "__riscv_sys_")
	}
	return false
}
