package rtos

// The words of FreeRTOS' control block that tell a task's state: the lists that its items are
// in, and the priority; a list has listWords words (list.h, without integrity checks).
const (
	ownerStateList, ownerEventList = 5, 10
	ownerPriority                  = 11
	listWords                      = 5
	maxPriority                    = 1 << 10
)

// statesFreeRTOS reads the states of tasks. Ready tasks, and the one that runs, are in the
// list of their priority, and these lists are an array: where the array begins, at least two
// tasks of different priorities agree on, of which one is the idle task. Who is in no list
// of the array waits: for an event, for a time, or to be resumed.
func statesFreeRTOS(m *ram, tasks []*Task, _ shape) {
	list := func(t *Task) uint64 { return m.at(t.Block, ownerStateList) }
	for _, t := range tasks {
		if p := m.at(t.Block, ownerPriority); p < maxPriority {
			t.Priority, t.HasPriority = int(p), true
		}
	}
	lists, known := readyLists(m, tasks)
	for _, t := range tasks {
		switch {
		case m.at(t.Block, ownerEventList) != 0:
			t.State = waiting
		case !known || !t.HasPriority || list(t) == 0:
		case list(t) == lists+m.word*listWords*uint64(t.Priority):
			t.State = ready
		default:
			t.State = waiting
		}
	}
}

// readyLists is where the array of FreeRTOS' lists of ready tasks begins.
func readyLists(m *ram, tasks []*Task) (addr uint64, ok bool) {
	priorities := make(map[uint64]int) // by the array's begin
	for _, t := range tasks {
		list := m.at(t.Block, ownerStateList)
		if list == 0 || !t.HasPriority {
			continue
		}
		at := list - m.word*listWords*uint64(t.Priority)
		if p, has := priorities[at]; has && p != t.Priority {
			return at, true
		}
		priorities[at] = t.Priority
	}
	return 0, false
}
