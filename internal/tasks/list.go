package tasks

import "github.com/backsight/backsight/target"

const (
	// maxTasks bounds the tasks: Linux's own limit is four million (PID_MAX_LIMIT), that of
	// machines of one user some thousands.
	maxTasks = 1 << 16
	// before and behind bound how far from comm the fields of interest lie: task_struct has
	// some kilobytes before comm and, with the state of the FPU, some behind.
	before, behind = 8 << 10, 16 << 10
)

// list finds the list of all tasks, which goes through the task whose comm lies at an
// address: of all distances the one at which the longest circle of list heads (struct
// list_head: next, prev) leads from name to name.
func (f *finder) list(comm uint64) {
	if f.comm(comm) == "" {
		return
	}
	for d := range f.distances(span{-distance(f.word), -before, -distance(f.word)}, []string{"tasks"}) {
		if nodes := f.circle(comm, d); len(nodes) > len(f.found) {
			f.found = nodes
		}
	}
	f.leaders = len(f.found)
	f.known = make(map[uint64]bool, len(f.found))
	for _, t := range f.found {
		f.known[t] = true
	}
}

// circle follows the list head at a distance from a task's comm, through tasks only, until
// it leads back. Where the list breaks off, because memory is missing, the tasks up to
// there are returned if they are more than a few.
func (f *finder) circle(comm uint64, d distance) (tasks []uint64) {
	first := at(comm, d)
	node := first
	for len(tasks) < maxTasks {
		task := at(node, -d)
		if f.comm(task) == "" {
			break
		}
		tasks = append(tasks, task)
		next, ok := f.next(node)
		if !ok {
			break
		}
		if next == first {
			return tasks
		}
		node = next
	}
	if len(tasks) > few {
		return tasks
	}
	return nil
}

// few is how many tasks on a list that does not close may be there by chance.
const few = 8

// findThreads adds the tasks that lists of the known ones lead to, at any distance, if they
// have a name, a context and a stack like those (task_struct.thread_node, thread_group).
// One list head of such a circle may be in no task: signal_struct.thread_head.
func (f *finder) findThreads() {
	if !f.context.known || !f.stack.known {
		return
	}
	for d := range f.distances(span{-before, before, distance(f.word)}, []string{"thread_node"}) {
		for i := 0; i < len(f.found) && len(f.found) < maxTasks && f.ctx.Err() == nil; i++ {
			f.threads(f.found[i], d)
		}
	}
}

func (f *finder) threads(task uint64, d distance) {
	first := at(task, d)
	node, strangers := first, 0
	for range maxTasks {
		next, ok := f.next(node)
		if !ok || next == first {
			return
		}
		node = next
		t := at(node, -d)
		switch {
		case f.known[t]:
			return // its own list is followed, too
		case f.isTask(t):
			f.add(t)
		default:
			if strangers++; strangers > 1 {
				return
			}
		}
	}
}

func (f *finder) add(task uint64) {
	f.known[task] = true
	f.found = append(f.found, task)
}

// isTask tells whether a task's comm lies at an address, by its fields.
func (f *finder) isTask(comm uint64) bool {
	if f.comm(comm) == "" {
		return false
	}
	regs, ok := f.registers(comm, f.context.at)
	if !ok {
		return false
	}
	stack, ok := f.Memory.Word(at(comm, f.stack.at))
	sp := regs.Val[f.Arch.SP]
	return ok && stack%pageSize == 0 && sp-stack-1 < f.stackSize
}

// addIdle adds the idle tasks of the other processors, which are on no list.
func (f *finder) addIdle(is func(comm uint64) bool) {
	for _, t := range f.Idle {
		if !f.known[t] && f.context.known && f.stack.known && is(t) {
			f.add(t)
		}
	}
}

// isIdle tells whether the name of an idle task is that of a task: its number is 0, and it has a stack.
// Such a task was running, where no task that is known ran on its processor; of x86's the registers
// of its last switch are overwritten then, so that these are no witness.
func (f *finder) isIdle(comm uint64) bool {
	pid, ok := f.Memory.Uint(at(comm, f.pid.at), 4)
	stack, _ := f.Memory.Word(at(comm, f.stack.at))
	perm, mapped := f.Memory.PermAt(stack)
	return f.pid.known && ok && pid == 0 && mapped && stack%pageSize == 0 && perm&target.PermWrite != 0 && f.comm(comm) != ""
}
