package rtos

import "slices"

// The states of a task, as target.Task has them.
const (
	running = "running"
	ready   = "ready"
	waiting = "waiting"
	ended   = "ended"
)

// stateReader knows where the control blocks of a kernel say what tasks do.
type stateReader struct {
	kernel string
	// is tells whether control blocks, of a shape, are the kernel's.
	is func(m *ram, tasks []*Task, sh shape) bool
	// read sets the tasks' states and priorities.
	read func(m *ram, tasks []*Task, sh shape)
}

// each tells whether a test holds for each control block, and there is one.
func each(test func(m *ram, block uint64) bool) func(*ram, []*Task, shape) bool {
	return func(m *ram, tasks []*Task, _ shape) bool {
		return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t *Task) bool { return !test(m, t.Block) })
	}
}

// describe finds the states and priorities of tasks, all that were found of the kernel. runs
// are the control blocks of those on whose stack a processor stands.
func (k *Kernel) describe(tasks []*Task, runs map[uint64]bool) {
	m := k.search.ram
	for _, r := range stateReaders() {
		if r.is(m, tasks, k.shape) {
			k.Name = r.kernel
			r.read(m, tasks, k.shape)
			break
		}
	}
	modules := k.search.code.snap.Modules
	if k.Name == nuttX {
		statesNuttX(m, modules, tasks)
	}
	if current := m.current(modules, tasks); current != nil && len(runs) == 0 {
		runs = map[uint64]bool{current.Block: true}
	}
	for _, t := range tasks {
		if runs[t.Block] {
			t.State = running
		} else if len(runs) > 0 && t.State == running {
			t.State = ready
		}
	}
}
