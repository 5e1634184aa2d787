package vmcore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/input/kernellog"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// threads makes a thread of each task. Of tasks that were running, the registers are those
// of their processors, if the dump has these; a processor that ran none of them is a thread
// of its own. The processor that stopped the kernel has the crashed thread, negative where it is not known:
// then the first one has.
func threads(found []tasks.Task, cpus []cpu.Registers, arch *cpu.Arch, panicked int) (list []target.Thread) {
	ran := assigned(found, cpus, arch)
	on := make([]int, len(cpus)) // the indices of the processors' threads
	for n := range on {
		on[n] = -1
	}
	for i := range found {
		t := &found[i]
		th := target.Thread{ID: t.PID, Name: t.Comm, Regs: t.Regs, Standing: target.Standing{Waits: true}, Stack: t.Stack, Hooked: t.Hooked}
		if stackGone(t) {
			th.Stale, th.Stack = true, target.Range{}
		}
		if t.State != "" {
			th.Task = &target.Task{State: t.State}
		}
		if t.OnCPU {
			th.Regs = cpu.Registers{}
			if n, ok := ran[i]; ok {
				on[n] = i
				th.Regs, th.Waits = cpus[n], false
			}
		}
		list = append(list, th)
	}
	for n := range cpus {
		if on[n] < 0 {
			on[n] = len(list)
			list = append(list, target.Thread{ID: -1 - n, Name: fmt.Sprintf("CPU %d", n), Regs: cpus[n]})
		}
	}
	if i := crashed(found, ran, on, panicked); i >= 0 {
		list[i].Crashed = true
	}
	return list
}

// crashed is the index of the thread that crashed, negative where no processor is known: the task that ran on the
// processor of the number panicked, where tasks have numbers: Linux begins with the processor that it was started on, and
// a dump of RISC-V with hart 0. ran are processors by the tasks' indices, on the threads of processors.
func crashed(found []tasks.Task, ran map[int]int, on []int, panicked int) int {
	for i := range found {
		if _, ok := ran[i]; ok && panicked >= 0 && found[i].CPU == panicked {
			return i
		}
	}
	switch {
	case len(on) == 0:
		return -1
	case panicked >= 0 && panicked < len(on):
		return on[panicked]
	}
	return slices.Min(on)
}

// stackGone tells whether the kernel has taken a dead task's stack (put_task_stack), which may be another task's by
// now: task_struct.stack is 0.
func stackGone(t *tasks.Task) bool { return t.Stack.Lo == 0 && t.Stack.Hi > 0 }

// panicked is the number of the processor that stopped the kernel: panic_cpu (kernel/panic.c, -1 while none
// did), where the kernel's names tell where that is, else that of the log's last report, of a kernel that
// panicked; negative where neither tells.
func panicked(kernel *target.Module, memory *target.Memory, log string) int {
	if kernel != nil && kernel.Image != nil {
		if sym, ok := kernel.Image.Symbols.Named("panic_cpu"); ok {
			if n, ok := memory.Uint(kernel.ToTarget(sym.Addr), 4); ok {
				return int(int32(n))
			}
		}
	}
	if !kernellog.Panicked(log) {
		return -1
	}
	return lastReporter(beforeStops(log))
}

// beforeStops is the log up to where the processor that panicked stopped others, which print reports of their own:
//
//	Kernel panic - not syncing: sysrq triggered crash
//	CPU: 1 PID: 151 Comm: busybox Not tainted …
//	CPU0: stopping                                      arch/arm/kernel/smp.c, ipi_cpu_stop
//	CPU: 0 PID: 111 Comm: sh Not tainted …
func beforeStops(log string) string {
	at := strings.Index(log, kernellog.Panic)
	if stops := strings.Index(log[at:], ": stopping\n"); stops >= 0 {
		return log[:at+stops]
	}
	return log
}

// lastReporter is the processor that the last report in a log is of (dump_stack_print_info); negative where
// the log has no reports.
//
//	CPU: 1 UID: 0 PID: 151 Comm: busybox Not tainted …
func lastReporter(log string) int {
	const key = "CPU: "
	for at := len(log); ; {
		if at = strings.LastIndex(log[:at], key); at < 0 {
			return -1
		}
		number, rest, _ := strings.Cut(log[at+len(key):min(at+64, len(log))], " ")
		n, err := strconv.ParseUint(number, 10, 16)
		if err == nil && (strings.HasPrefix(rest, "PID: ") || strings.HasPrefix(rest, "UID: ")) {
			return int(n)
		}
	}
}

// assigned are the processors that ran the tasks that were running, by the tasks' indices: a processor whose
// stack pointer lies on the task's stack; else the one whose number the task has, which may be on the
// stack of interrupts; else, of the last one and the last task. The dump has the processors in the order
// of their numbers, unless a stack shows otherwise.
func assigned(found []tasks.Task, cpus []cpu.Registers, arch *cpu.Arch) map[int]int {
	ran, taken := make(map[int]int), make([]bool, len(cpus))
	inOrder := true
	var rest []int
	take := func(task, n int) { ran[task], taken[n] = n, true }
	for i := range found {
		if !found[i].OnCPU {
			continue
		}
		n := slices.IndexFunc(cpus, func(r cpu.Registers) bool {
			sp, ok := r.Lookup(arch.SP)
			return ok && found[i].Stack.Contains(sp)
		})
		if n < 0 || taken[n] {
			rest = append(rest, i)
			continue
		}
		take(i, n)
		inOrder = inOrder && (found[i].CPU < 0 || found[i].CPU == n)
	}
	rest = slices.DeleteFunc(rest, func(i int) bool {
		n := found[i].CPU
		ok := inOrder && n >= 0 && n < len(cpus) && !taken[n]
		if ok {
			take(i, n)
		}
		return ok
	})
	if n := slices.Index(taken, false); len(rest) == 1 && len(ran) == len(cpus)-1 {
		take(rest[0], n)
	}
	return ran
}
