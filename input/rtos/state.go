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

// stateReaders are asked in order, until one knows the control blocks.
func stateReaders() []stateReader {
	return []stateReader{
		{freeRTOS, func(_ *ram, _ []*Task, sh shape) bool { return sh.owner }, statesFreeRTOS},
		{threadX, each(isThreadX), statesThreadX},
		{rtx5, each(isRTX), statesRTX},
		{rtThread, isRTThread, statesRTThread},
		{chibiOS, func(_ *ram, _ []*Task, sh shape) bool { return sh.top }, statesChibiOS},
		{zephyr, isZephyr, statesZephyr},
	}
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

// The words of ThreadX' control block (TX_THREAD in tx_api.h, without extensions): an
// identification in front, "THRD", behind the stack its bounds, the name, priority, state.
const (
	threadXID                      = 0x54485244
	threadXPriority, threadXStatus = 9, 10
	threadXStates                  = 14
)

func isThreadX(m *ram, block uint64) bool {
	return m.at(block, -2) == threadXID && m.at(block, threadXStatus) <= threadXStates
}

func statesThreadX(m *ram, tasks []*Task, _ shape) {
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.at(t.Block, threadXPriority)), true
		switch m.at(t.Block, threadXStatus) {
		case 0:
			t.State = ready
		case 1, 2:
			t.State = ended
		default:
			t.State = waiting
		}
	}
}

// The bytes of RTX5's control block (osRtxThread_t in rtx_os.h), counted from the saved SP:
// identification, state, priority.
const (
	rtxID                               = 0xf1
	rtxIDAt, rtxStateAt, rtxPriorityAt  = -56, -55, -24
	rtxReady, rtxRunning, rtxTerminated = 1, 2, 4
)

func isRTX(m *ram, block uint64) bool {
	return m.word == 4 && m.byteAt(block, rtxIDAt) == rtxID && m.byteAt(block, rtxStateAt)&0xf <= rtxTerminated
}

func statesRTX(m *ram, tasks []*Task, _ shape) {
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(int8(m.byteAt(t.Block, rtxPriorityAt))), true
		switch m.byteAt(t.Block, rtxStateAt) & 0xf { // the rest says what a task waits for
		case rtxReady:
			t.State = ready
		case rtxRunning:
			t.State = running
		case rtxTerminated:
			t.State = ended
		default:
			t.State = waiting
		}
	}
}

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

// isRTThread tells whether control blocks are RT-Thread's: the bit is that of the priority.
func isRTThread(m *ram, tasks []*Task, sh shape) bool {
	return sh.lo == 3 && sh.other == 4 && each(func(m *ram, block uint64) bool {
		at := behindSize(m)
		p := m.byteAt(block, at+rtPriority)
		bit, _ := m.mem.Uint(block+uint64(at+rtBit), 4)
		return p < 32 && bit == 1<<p
	})(m, tasks, sh)
}

// statesRTThread reads the states of tasks. Their numbers are others since version 5.0:
// there 2 is ready, before 1. The task of the least priority, the idle task, never waits.
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
	for _, t := range tasks {
		switch v := status(t); {
		case v == rtRunning:
			t.State = running
		case isReady == rtRunning: // nobody else is ready
			t.State = waiting
		case v == isReady:
			t.State = ready
		default:
			t.State = waiting
		}
	}
}

// The states of ChibiOS' threads (chschd.h) that are not waits for something: the byte of the
// state follows the low end of the stack. The priority stands right before the saved SP.
const (
	chibiReady, chibiCurrent, chibiFinal = 0, 1, 15
	chibiPriority                        = -1
)

func statesChibiOS(m *ram, tasks []*Task, sh shape) {
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.at(t.Block, chibiPriority)), true
		switch m.byteAt(t.Block, (sh.lo+1)*int(m.word)) {
		case chibiReady:
			t.State = ready
		case chibiCurrent:
			t.State = running
		case chibiFinal:
			t.State = ended
		default:
			t.State = waiting
		}
	}
}
