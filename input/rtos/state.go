package rtos

// The states of a task, as target.Task has them.
const (
	running = "running"
	ready   = "ready"
	waiting = "waiting"
	ended   = "ended"
)

// describe finds the states and priorities of tasks, all that were found of the kernel. runs
// are the control blocks of those on whose stack a processor stands.
func (k *Kernel) describe(tasks []*Task, runs map[uint64]bool) {
	s := k.search
	switch {
	case k.shape.owner:
		s.statesFreeRTOS(tasks)
	case s.all(tasks, s.isThreadX):
		k.Name = threadX
		s.statesThreadX(tasks)
	case s.all(tasks, s.isRTX):
		k.Name = rtx5
		s.statesRTX(tasks)
	case k.shape.lo == 3 && k.shape.other == 4 && s.all(tasks, s.isRTThread):
		k.Name = rtThread
		s.statesRTThread(tasks)
	}
	if current := s.current(tasks); current != nil && len(runs) == 0 {
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

// all tells whether a test holds for each control block, and there is one.
func (s *search) all(tasks []*Task, test func(block uint64) bool) bool {
	for _, t := range tasks {
		if !test(t.Block) {
			return false
		}
	}
	return len(tasks) > 0
}

// at is a word of a control block, counted in words from the saved SP.
func (s *search) at(block uint64, words int) uint64 {
	v, _ := s.mem.Uint(block+s.word*uint64(int64(words)), int(s.word))
	return v
}

// byteAt is a byte of a control block, counted in bytes from the saved SP.
func (s *search) byteAt(block uint64, off int) uint64 {
	v, _ := s.mem.Uint(block+uint64(int64(off)), 1)
	return v
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
func (s *search) statesFreeRTOS(tasks []*Task) {
	list := func(t *Task) uint64 { return s.at(t.Block, ownerStateList) }
	for _, t := range tasks {
		if p := s.at(t.Block, ownerPriority); p < maxPriority {
			t.Priority, t.HasPriority = int(p), true
		}
	}
	lists, known := s.readyLists(tasks)
	for _, t := range tasks {
		switch {
		case s.at(t.Block, ownerEventList) != 0:
			t.State = waiting
		case !known || !t.HasPriority || list(t) == 0:
		case list(t) == lists+s.word*listWords*uint64(t.Priority):
			t.State = ready
		default:
			t.State = waiting
		}
	}
}

// readyLists is where the array of FreeRTOS' lists of ready tasks begins.
func (s *search) readyLists(tasks []*Task) (addr uint64, ok bool) {
	priorities := make(map[uint64]int) // by the array's begin
	for _, t := range tasks {
		list := s.at(t.Block, ownerStateList)
		if list == 0 || !t.HasPriority {
			continue
		}
		at := list - s.word*listWords*uint64(t.Priority)
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

func (s *search) isThreadX(block uint64) bool {
	return s.at(block, -2) == threadXID && s.at(block, threadXStatus) <= threadXStates
}

func (s *search) statesThreadX(tasks []*Task) {
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(s.at(t.Block, threadXPriority)), true
		switch s.at(t.Block, threadXStatus) {
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

func (s *search) isRTX(block uint64) bool {
	return s.word == 4 && s.byteAt(block, rtxIDAt) == rtxID && s.byteAt(block, rtxStateAt)&0xf <= rtxTerminated
}

func (s *search) statesRTX(tasks []*Task) {
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(int8(s.byteAt(t.Block, rtxPriorityAt))), true
		switch s.byteAt(t.Block, rtxStateAt) & 0xf { // the rest says what a task waits for
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
func (s *search) behindSize() int {
	if s.word == 8 {
		return 6 * 8
	}
	return 6 * 4
}

func (s *search) isRTThread(block uint64) bool {
	at := s.behindSize()
	p := s.byteAt(block, at+rtPriority)
	bit, _ := s.mem.Uint(block+uint64(at+rtBit), 4)
	return p < 32 && bit == 1<<p
}

// statesRTThread reads the states of tasks. Their numbers are others since version 5.0:
// there 2 is ready, before 1. The task of the least priority, the idle task, never waits.
func (s *search) statesRTThread(tasks []*Task) {
	status := func(t *Task) uint64 { return s.byteAt(t.Block, s.behindSize()+rtStatus) & 7 }
	idle := tasks[0]
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(s.byteAt(t.Block, s.behindSize()+rtPriority)), true
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

// mayRun are the tasks of which one runs, so that its saved registers are old. Where nobody
// says which one, of the ready tasks only the first in priority may run, and any task of
// which the state is not known.
func (k *Kernel) mayRun(tasks []*Task) (out []*Task) {
	var first []*Task
	for _, t := range tasks {
		switch {
		case t.State == running:
			return []*Task{t}
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

// before tells whether the kernel prefers task a to b. Of FreeRTOS and RTX5 the highest
// number is the first in priority, of others the lowest.
func (k *Kernel) before(a, b *Task) bool {
	if k.Name == freeRTOS || k.Name == rtx5 {
		return a.Priority > b.Priority
	}
	return a.Priority < b.Priority
}
