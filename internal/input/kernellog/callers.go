package kernellog

import (
	"slices"
	"strings"

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

// doubtCallers marks entries that did not call the entry before them.
func doubtCallers(e *evidence, listed []target.Listed) []target.Listed {
	var inner *target.Listed // the last entry that is not doubted
	for i := range listed {
		l := &listed[i]
		if l.Doubtful || l.Symbol == "" {
			continue
		}
		if inner != nil && (isNoCaller(l, inner) || e.has(framePointers) && (isNoSystemCall(l, inner) || isNoWork(l, inner, &e.work))) {
			l.Gap = true
		}
		inner = l
	}
	return listed
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

// doubtThreadStart doubts a chain in which a module's function begins a thread: what begins threads is in the
// kernel, for kernel_thread is not exported (kernel/fork.c). The line of kthread was lost then.
//
//	kth_fn+0x14/0x18 [toy]
//	ret_from_fork+0x10/0x20
func doubtThreadStart(_ *evidence, listed []target.Listed) []target.Listed {
	inner := -1 // the last entry that is not doubted
	for i := range listed {
		l := &listed[i]
		if l.Doubtful {
			continue
		}
		if inner >= 0 && listed[inner].Module != "" && (strings.HasPrefix(l.Symbol, "ret_from_fork") || strings.HasPrefix(l.Symbol, "ret_from_kernel_thread")) {
			l.Gap = true
		}
		inner = i
	}
	return listed
}

// withWork adds the functions that run further out than the chain, innermost first, of a report that names
// the work that the task executes. Only process_one_work calls the functions of works, and a thread that
// kthread began calls process_one_work. MIPS prints 40 words of the stack, which these frames lie beyond.
func withWork(e *evidence, listed []target.Listed) []target.Listed {
	loop := "worker_thread"
	if e.comm != "" && !strings.HasPrefix(e.comm, "kworker") {
		loop = "rescuer_thread" // its task has the workqueue's name
	}
	names := []string{e.work.symbol, "process_one_work", loop, "kthread"}
	if e.work.symbol == "" || e.whole() || slices.ContainsFunc(listed, func(l target.Listed) bool { return !l.Doubtful && slices.Contains(names, l.Symbol) }) {
		return listed
	}
	for i, name := range names {
		p := place{symbol: name}
		if i == 0 {
			p.module = e.work.module
		}
		pc, _ := e.binaries.addressOf(&p)
		listed = append(listed, target.Listed{PC: pc, Symbol: name, Module: p.module, Gap: true, Around: true})
	}
	return listed
}

// The first line of a warning says where the warning was raised, which the chain may lack: its line was lost, or
// the chain ends in a tracer's trampoline before it comes there.
//
//	WARNING: CPU: 0 PID: 96 at toy.c:59 warn_c+0x4c/0x60 [toy]
//	[<81b9d7c4>] warn_slowpath_fmt+0xb8/0xd8                        functions that print warnings
//	                                                                [<c00a5424>] warn_c+0x50/0x64 [toy] was lost
//	[<c00a54a0>] warn_b+0x3c/0x54 [toy]

// withWarned is a chain with the place where the warning was raised.
func withWarned(e *evidence, listed []target.Listed) []target.Listed {
	r := e.record
	if r.at.symbol == "" || len(listed) == 0 || slices.ContainsFunc(listed, func(l target.Listed) bool { return samePlace(&l, &r.at) }) {
		return listed
	}
	l := r.at.listed()
	for i := range listed {
		if printsWarnings(listed[i].Symbol) && (i+1 == len(listed) || !printsWarnings(listed[i+1].Symbol)) {
			if i+1 < len(listed) && completes(&r.at, &listed[i+1]) {
				return listed
			}
			return slices.Insert(listed, i+1, l)
		}
	}
	last := listed[len(listed)-1].Symbol
	if l.Gap = true; (isTrampoline(last) || printsStacks(last)) && !r.whole() {
		return append(listed, l)
	}
	return listed
}
