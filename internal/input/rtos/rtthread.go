package rtos

import "slices"

// rtFields is where a control block of RT-Thread has what the scheduler keeps, in bytes from the saved SP. Before are entry, parameter,
// low end and size of the stack, error (rtdef.h, rtsched.h).
type rtFields struct {
	status   int // a byte
	priority int // a byte: that of now
	number   int // two bytes, with more than 32 priorities: the number of a group of 8, the bit in the group
	bit      int // 32 bits, of which one is that of the priority or of the group
	links    int // those of the list that the task is in
}

// rtLayouts are the fields since 3.1, with and without the priority at first before the group; with several processors in 4.x and
// 5.0; since 5.1 with one and with several.
func rtLayouts(m *ram) []rtFields {
	at, w := behindSize(m), int(m.word)
	since := func(links, priority int) rtFields {
		return rtFields{links + 2*w, priority, priority + 2, priority + 4, links}
	}
	return []rtFields{
		{at, at + 1, at + 2, at + 4, -2 * w},
		{at, at + 1, at + 3, at + 8, -2 * w},
		{at, at + 8, at + 10, at + 12, -2 * w},
		{at, at + 10, at + 12, at + 12, -2 * w},
		{at, at + 10, at + 12, at + 16, -2 * w},
		since(at, at+2*w+12),
		since(at+w, at+3*w+max(4, w)+w+8),
	}
}

// behindSize is the offset of what follows RT-Thread's size of the stack and error code: the size has 32 bits,
// the error code is as wide as a register.
func behindSize(m *ram) int { return 6 * int(m.word) }

const rtRunning = 3

// areRTThread tells whether control blocks are RT-Thread's.
func areRTThread(m *ram, tasks []*Task, sh shape) bool {
	_, ok := rtFieldsOf(m, tasks)
	return sh.lo == 3 && sh.other == 4 && ok
}

// rtFieldsOf are the fields of control blocks that are all laid out alike.
func rtFieldsOf(m *ram, tasks []*Task) (f rtFields, ok bool) {
	all := rtLayouts(m)
	i := slices.IndexFunc(all, func(f rtFields) bool {
		return !slices.ContainsFunc(tasks, func(t *Task) bool { return !f.of(m, t.Block) })
	})
	if i < 0 {
		return f, false
	}
	return all[i], true
}

// isRTThread tells whether a control block is RT-Thread's.
func isRTThread(m *ram, block uint64) bool {
	return slices.ContainsFunc(rtLayouts(m), func(f rtFields) bool { return f.of(m, block) })
}

// of tells whether a control block has these fields: the bit is that of the priority, or with more than 32 priorities that of the
// group.
func (f rtFields) of(m *ram, block uint64) bool {
	p, group, inGroup := m.byteAt(block, f.priority), m.byteAt(block, f.number), m.byteAt(block, f.number+1)
	bit, _ := m.mem.Uint(block+uint64(f.bit), 4)
	return p < 32 && bit == 1<<p || group == p>>3 && inGroup == 1<<(p&7) && bit == 1<<group
}

// statesRTThread reads the states of tasks. Their numbers are others since version 5.0:
// there 2 is ready and 1 ended, before 1 and 4. The task of the least priority, the idle task, never waits; with several processors
// all its kind may run.
func statesRTThread(m *ram, tasks []*Task, _ shape) {
	f, _ := rtFieldsOf(m, tasks)
	status := func(t *Task) uint64 { return m.byteAt(t.Block, f.status) & 7 }
	idle := tasks[0]
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.byteAt(t.Block, f.priority)), true
		if t.Priority > idle.Priority || t.Priority == idle.Priority && status(idle) == rtRunning {
			idle = t
		}
	}
	isReady := status(idle)
	isEnded := map[uint64]uint64{1: 4, 2: 1}[isReady]
	timer := m.rtTimer(slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return status(t) == isEnded }))
	for _, t := range tasks {
		links := t.Block + uint64(int64(f.links))
		switch v := status(t); {
		case v == rtRunning:
			t.State = running
		case isReady == rtRunning: // nobody else is ready
			t.State = waiting
		case v == isReady:
			t.State = ready
		case v == isEnded:
			t.State = ended
		case timer != 0 && m.at(links, 0) == links && m.byteAt(t.Block, timer)&1 == 0:
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
	for off = behindSize(m) + 8; off < behindSize(m)+reach; off++ {
		if !slices.ContainsFunc(tasks, func(t *Task) bool {
			return m.byteAt(t.Block, off)&^static != timer || m.byteAt(t.Block, off+1) > 7
		}) {
			return off + 1
		}
	}
	return 0
}
