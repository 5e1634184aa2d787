package rtos

import "slices"

// The states of a task, as target.Task has them.
const (
	running   = "running"
	ready     = "ready"
	waiting   = "waiting"
	suspended = "suspended" // until another task resumes it
	ended     = "ended"
)

// stateReader knows where the control blocks of a kernel say what tasks do.
type stateReader struct {
	kernel string
	// marked tells whether a control block is the kernel's by more than its stack and context; nil: blocks have no marks.
	marked func(m *ram, block uint64) bool
	// learn is marked as the tasks that were found tell; nil: they tell nothing.
	learn func(m *ram, tasks []*Task) func(m *ram, block uint64) bool
	// bounds is the shape of control blocks that are marked.
	bounds shape
	// is tells whether control blocks, of a shape, are the kernel's; nil: where each is marked.
	is   func(m *ram, tasks []*Task, sh shape) bool
	name nameAt
	// read sets the tasks' states and priorities.
	read func(m *ram, tasks []*Task, sh shape)
}

// reads tells whether control blocks are those of the reader's kernel.
func (r *stateReader) reads(m *ram, tasks []*Task, sh shape) bool {
	if r.is != nil {
		return r.is(m, tasks, sh)
	}
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t *Task) bool { return !r.marked(m, t.Block) })
}

// readerOf is the reader of a kernel's control blocks, the first that knows them.
func readerOf(m *ram, tasks []*Task, sh shape) (r stateReader) {
	readers := stateReaders()
	if i := slices.IndexFunc(readers, func(r stateReader) bool { return r.reads(m, tasks, sh) }); i >= 0 {
		return readers[i]
	}
	return r
}

// describe finds the states and priorities of tasks, all that were found of the kernel. runs
// are the control blocks of those on whose stack a processor stands.
func (k *Kernel) describe(tasks []*Task, runs map[uint64]bool) {
	m := k.search.ram
	if k.states.read != nil {
		k.states.read(m, tasks, k.shape)
	}
	modules := k.search.code.snap.Modules
	if k.Name == nuttX && k.states.read == nil {
		listedNuttX(m, modules, tasks)
	}
	if current := k.current(modules, tasks); current != nil && len(runs) == 0 {
		runs = map[uint64]bool{current.Block: true}
	}
	several := len(theyRun(tasks)) > 1
	for _, t := range tasks {
		if runs[t.Block] {
			t.State = running
		} else if len(runs) > 0 && !several && t.State == running {
			t.State = ready
		}
	}
}
