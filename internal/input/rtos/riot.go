package rtos

import "slices"

// The states of RIOT's threads (thread_status_t of core/include/sched.h): behind those that wait come the running one and those
// that are ready, one number further since there are condition variables.
const (
	riotSleeping, riotWaiting = 2, 3
	riotRunning               = 10 // or 11
)

// statesRIOT reads the states of tasks, which stand behind the saved SP, the priority behind them. Idle threads are not everywhere.
func statesRIOT(m *ram, tasks []*Task, _ shape) {
	status := func(t *Task) int { return int(m.byteAt(t.Block, int(m.word))) }
	has := func(s int) bool { return slices.ContainsFunc(tasks, func(t *Task) bool { return status(t) == s }) }
	runs := riotRunning
	if has(runs+2) || !has(runs) {
		runs++
	}
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.byteAt(t.Block, int(m.word)+1)), true
		switch s := status(t); {
		case s == runs:
			t.State = running
		case s == runs+1:
			t.State = ready
		case s < riotSleeping:
			t.State = ended
		case s < riotWaiting:
			t.State = suspended
		default:
			t.State = waiting
		}
	}
}

// marksRIOT are marks of a thread's control block: it lies at the end of the memory that its own words bound, and has a status and the
// number of a process. words is how far behind the saved SP the low end stands.
func marksRIOT(m *ram, tasks []*Task) func(*ram, uint64) bool {
	inside := func(block uint64, words int) bool {
		end := m.at(block, words) + m.size(block, words+2)
		return block < end && end-block < maxInside
	}
	words := 1
	for words < reach && slices.ContainsFunc(tasks, func(t *Task) bool { return !inside(t.Block, words) }) {
		words++
	}
	return func(m *ram, block uint64) bool {
		const processes = 64
		pid, _ := m.mem.Uint(block+m.word+2, 2)
		return inside(block, words) && m.byteAt(block, int(m.word)) <= riotRunning+2 && pid > 0 && pid <= processes
	}
}
