package rtos

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// currents are the variables in which kernels keep the control block of the task that runs:
// FreeRTOS, RT-Thread, ThreadX, RIOT, Mynewt, and Zephyr, whose structure has that pointer as its third
// word (struct _cpu in kernel_structs.h).
var currents = []struct {
	symbol string
	word   uint64
}{{"pxCurrentTCB", 0}, {"pxCurrentTCBs", 0}, {"rt_current_thread", 0}, {"_tx_thread_current_ptr", 0}, {"sched_active_thread", 0}, {"g_current_task", 0}, {"_kernel", 2}}

// maxBlock is how far in bytes the saved SP lies from a control block's begin.
const maxBlock = 512

// current is the task that runs as the kernel's own variable says, or NuttX' control blocks. Where the binary has no symbol for that, or memory does not
// hold the variable, that is the only ready task of the first priority if its context is none any more; nil if not.
func (k *Kernel) current(modules []*target.Module, tasks []*Task) *Task {
	if run := theyRun(tasks); k.Name == nuttX && len(run) == 1 {
		return run[0]
	}
	m := k.search.ram
	for _, c := range currents {
		if block, ok := m.variable(modules, c.symbol, c.word); ok {
			if t := taskAt(tasks, block); t != nil {
				return t
			}
		}
	}
	if may := k.mayRun(tasks); len(may) == 1 && may[0].Regs.Known == 0 && may[0].State != "" {
		return may[0]
	}
	return nil
}

// variable is a word of a kernel's variable, by the symbol in one of its binaries.
func (m *ram) variable(modules []*target.Module, symbol string, word uint64) (v uint64, ok bool) {
	for _, module := range modules {
		if module.Image == nil {
			continue
		}
		if sym, has := module.Image.Symbols.Named(symbol); has {
			if v, ok = m.mem.Uint(module.ToTarget(sym.Addr)+word*m.word, int(m.word)); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// taskAt is the task whose control block begins at an address, nil for none.
func taskAt(tasks []*Task, block uint64) *Task {
	i := slices.IndexFunc(tasks, func(t *Task) bool { return t.Block-block <= maxBlock && !anyBetween(tasks, block, t.Block) })
	if i < 0 {
		return nil
	}
	return tasks[i]
}

// anyBetween tells whether another control block has its saved SP nearer behind an address.
func anyBetween(tasks []*Task, addr, block uint64) bool {
	return slices.ContainsFunc(tasks, func(t *Task) bool { return t.Block >= addr && t.Block < block })
}

// running finds the task on whose stack sp lies. Its control block has the shape of the other
// tasks' blocks. FreeRTOS' blocks do not state where a stack ends: there the task is the one whose
// stack begins nearest below sp.
func (m *ram) running(sh shape, tasks []Task, sp uint64) (found Task, ok bool) {
	run, has := m.run(sp)
	if !has {
		return found, false
	}
	for at := range m.words() {
		saved, _ := m.mem.Uint(at, int(m.word))
		if !run.Contains(saved) || sh.owner > 0 && !slices.Contains(m.owners[at], sh) {
			continue
		}
		p := suspect{block: at, saved: saved, ctx: registers{end: sp}}
		t := m.task(&p, sh)
		if sh.owner > 0 {
			t.Stack.Hi = m.next(append(tasks[:len(tasks):len(tasks)], t), &Task{saved: sp})
		}
		if encloses(&t, sp, run) && !overlaps(&t, tasks) && (!ok || t.Stack.Lo > found.Stack.Lo) {
			found, ok = t, true
		}
	}
	return found, ok
}

// encloses tells whether a task's stack is memory from end to end, holds sp and the task's saved
// context, and does not hold the task's control block.
func encloses(t *Task, sp uint64, run target.Range) bool {
	r := t.Stack
	return r.Lo < r.Hi && r.Hi-r.Lo >= minStack && r.Hi-r.Lo <= maxStack && r.Lo >= run.Lo && r.Hi <= run.Hi &&
		r.Lo <= sp && sp <= r.Hi && r.Contains(t.saved) && !r.Contains(t.Block)
}

// overlaps tells whether the stack of another task overlaps a task's stack.
func overlaps(t *Task, tasks []Task) bool {
	for i := range tasks {
		if o := tasks[i].Stack; t.Stack.Lo < o.Hi && o.Lo < t.Stack.Hi {
			return true
		}
	}
	return false
}

// theyRun are the tasks that run, one on each processor.
func theyRun(tasks []*Task) (out []*Task) {
	for _, t := range tasks {
		if t.State == running {
			out = append(out, t)
		}
	}
	return out
}

// mayRun are the tasks that may be the running one, whose saved registers are old. Where the
// kernel does not name the running task, it is the ready task of the first priority, or a task of
// unknown state.
func (k *Kernel) mayRun(tasks []*Task) (out []*Task) {
	if out = theyRun(tasks); len(out) > 0 {
		return out
	}
	var first []*Task
	for _, t := range tasks {
		switch {
		case t.State == "":
			out = append(out, t)
		case t.State == ready && (len(first) == 0 || k.before(t, first[0])):
			first = []*Task{t}
		case t.State == ready && t.Priority == first[0].Priority:
			first = append(first, t)
		}
	}
	return append(out, first...)
}

// before tells whether the kernel prefers task a to b. Some kernels run the highest priority
// number first, others the lowest.
func (k *Kernel) before(a, b *Task) bool {
	switch k.Name {
	case freeRTOS, rtx5, chibiOS, nuttX:
		return a.Priority > b.Priority
	}
	return a.Priority < b.Priority
}
