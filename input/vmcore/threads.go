package vmcore

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// threads makes a thread of each task. Of tasks that were running, the registers are those
// of their processors, if the dump has these; a processor that ran none of them is a thread
// of its own.
func threads(found []tasks.Task, cpus []cpu.Registers, arch *cpu.Arch) (list []target.Thread) {
	taken := make([]bool, len(cpus))
	for i := range found {
		t := &found[i]
		th := target.Thread{ID: t.PID, Name: t.Comm, Regs: t.Regs, Waits: true, Stack: t.Stack, Hooked: t.Hooked}
		if t.State != "" {
			th.Task = &target.Task{State: t.State}
		}
		if t.OnCPU {
			th.Regs = cpu.Registers{}
			if n, ok := processorOf(t, found, cpus, arch); ok && !taken[n] {
				taken[n] = true
				th.Regs, th.Crashed, th.Waits = cpus[n], true, false
			}
		}
		list = append(list, th)
	}
	for n := range cpus {
		if !taken[n] {
			list = append(list, target.Thread{ID: -1 - n, Name: fmt.Sprintf("CPU %d", n), Regs: cpus[n], Crashed: true})
		}
	}
	first := true
	for i := range list {
		list[i].Crashed = list[i].Crashed && first
		first = first && !list[i].Crashed
	}
	return list
}

// processorOf is the processor that ran a task: the one whose stack pointer lies on the
// task's stack, or the only one where only one task was running.
func processorOf(t *tasks.Task, found []tasks.Task, cpus []cpu.Registers, arch *cpu.Arch) (int, bool) {
	for n := range cpus {
		if sp, ok := cpus[n].Lookup(arch.SP); ok && t.Stack.Contains(sp) {
			return n, true
		}
	}
	running := 0
	for i := range found {
		if found[i].OnCPU {
			running++
		}
	}
	return 0, running == 1 && len(cpus) == 1
}
