package rtos

import "slices"

// The control block of Mynewt (struct os_task of kernel/os/include/os/os_task.h) in bytes from the saved SP: the low end of the stack, its
// size, the number and the priority, state, flags, locks and a byte that is 0; then the name and the task's function.
const (
	mynewtPriority, mynewtState, mynewtFlags, mynewtPad = 11, 12, 13, 15
	mynewtName, mynewtFunction                          = 4, 5 // in words
	mynewtReady, mynewtSleep                            = 1, 2
)

func areMynewt(m *ram, tasks []*Task, sh shape) bool {
	return sh.halves && !slices.ContainsFunc(tasks, func(t *Task) bool { return !isMynewt(m, t.Block) })
}

// marksMynewt are marks of a control block where others were found: small numbers alone would not do.
func marksMynewt(*ram, []*Task) func(*ram, uint64) bool { return isMynewt }

// isMynewt tells whether a control block may be Mynewt's. The function lies in no memory that was captured.
func isMynewt(m *ram, block uint64) bool {
	const flags = 0xf
	state, function := m.byteAt(block, mynewtState), m.at(block, mynewtFunction)
	_, in := m.run(function)
	return m.word == 4 && (state == mynewtReady || state == mynewtSleep) && m.byteAt(block, mynewtFlags) <= flags &&
		m.byteAt(block, mynewtPad) == 0 && m.at(block, mynewtName) != 0 && function != 0 && !in
}

// statesMynewt reads the states of tasks. The one that runs is a ready one.
func statesMynewt(m *ram, tasks []*Task, _ shape) {
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.byteAt(t.Block, mynewtPriority)), true
		if t.State = waiting; m.byteAt(t.Block, mynewtState) == mynewtReady {
			t.State = ready
		}
	}
}
