package rtos

import "slices"

// The control block of RT-Thread behind the saved SP: entry, parameter, low end and size of
// the stack, error; then bytes: status, priority now, priority at first; and the bit of the
// priority in a word (rtdef.h of 3.1 to 5.0, up to 32 priorities, one processor).
const (
	rtStatus, rtPriority, rtBit = 0, 1, 4
	rtRunning                   = 3
)

// behindSize is the offset of RT-Thread's status from the saved SP: the size has 32 bits,
// the error code is as wide as a register.
func behindSize(m *ram) int {
	if m.word == 8 {
		return 6 * 8
	}
	return 6 * 4
}

// areRTThread tells whether control blocks are RT-Thread's.
func areRTThread(m *ram, tasks []*Task, sh shape) bool {
	return sh.lo == 3 && sh.other == 4 && !slices.ContainsFunc(tasks, func(t *Task) bool { return !isRTThread(m, t.Block) })
}

// isRTThread tells whether a control block is RT-Thread's: the bit is that of the priority, or with more than 32 priorities,
// behind the number of a group of 8 and the bit in the group, that of the group.
func isRTThread(m *ram, block uint64) bool {
	at := behindSize(m)
	p := m.byteAt(block, at+rtPriority)
	group, inGroup := m.byteAt(block, at+rtPriority+1), m.byteAt(block, at+rtPriority+2)
	bit, _ := m.mem.Uint(block+uint64(at+rtBit), 4)
	return p < 32 && bit == 1<<p || group == p>>3 && inGroup == 1<<(p&7) && bit == 1<<group
}

// statesRTThread reads the states of tasks. Their numbers are others since version 5.0:
// there 2 is ready and 1 ended, before 1 and 4. The task of the least priority, the idle task, never waits.
func statesRTThread(m *ram, tasks []*Task, _ shape) {
	status := func(t *Task) uint64 { return m.byteAt(t.Block, behindSize(m)+rtStatus) & 7 }
	idle := tasks[0]
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.byteAt(t.Block, behindSize(m)+rtPriority)), true
		if t.Priority > idle.Priority {
			idle = t
		}
	}
	isReady := status(idle)
	isEnded := map[uint64]uint64{1: 4, 2: 1}[isReady]
	timer := m.rtTimer(slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return status(t) == isEnded }))
	for _, t := range tasks {
		switch v := status(t); {
		case v == rtRunning:
			t.State = running
		case isReady == rtRunning: // nobody else is ready
			t.State = waiting
		case v == isReady:
			t.State = ready
		case v == isEnded:
			t.State = ended
		case timer != 0 && m.at(t.Block, -2) == t.Block-2*m.word && m.byteAt(t.Block, timer)&1 == 0:
			t.State = suspended // in no list, and for no time
		default:
			t.State = waiting
		}
	}
}

// rtTimer is where each control block has the flags of the thread's timer, of which the lowest bit tells whether the timer runs, 0
// where that is not found: behind the type of a timer, in bytes from the saved SP.
func (m *ram) rtTimer(tasks []*Task) (off int) {
	const timer, static, reach = 0x0a, 0x80, 160
	for off = behindSize(m) + rtBit + 4; off < behindSize(m)+reach; off++ {
		if !slices.ContainsFunc(tasks, func(t *Task) bool {
			return m.byteAt(t.Block, off)&^static != timer || m.byteAt(t.Block, off+1) > 7
		}) {
			return off + 1
		}
	}
	return 0
}
