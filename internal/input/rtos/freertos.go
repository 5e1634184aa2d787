package rtos

import (
	"maps"
	"slices"
)

// maxPriority is above all priorities of FreeRTOS' tasks.
const maxPriority = 1 << 10

// freeRTOSLists are the lists that tasks are in, as far as they are known.
type freeRTOSLists struct {
	ready, size uint64 // the first of an array, by priority, and how long each is
	// suspended has the tasks that wait without end, for an event or to be resumed.
	suspended uint64
	// timed have those that wait for a time.
	timed map[uint64]bool
}

// statesFreeRTOS reads the states of tasks: each is in a list. Ready tasks, and the one that runs, are in the
// list of their priority.
func statesFreeRTOS(m *ram, tasks []*Task, sh shape) {
	several := m.several(tasks, sh)
	damaged := m.damaged(tasks, sh)
	for i, t := range tasks {
		if p := m.at(t.Block, sh.lo-1); p < maxPriority && !damaged[i] {
			t.Priority, t.HasPriority = int(p), true
		}
	}
	l := m.lists(tasks, sh)
	for i, t := range tasks {
		list := m.at(t.Block, sh.owner+1)
		switch {
		case damaged[i]:
			t.State = ""
		case several && m.signed(t.Block, sh.lo+1) != -1: // -2: the task shall yield, and runs until then
			t.State = running
		case m.at(t.Block, sh.owner+sh.item+1) != 0:
			t.State = waiting
		case l.size == 0:
			t.State = ""
		case t.HasPriority && list == l.ready+l.size*uint64(t.Priority):
			t.State = ready
		case l.suspended == 0 || l.timed[list]:
			t.State = waiting
		case list == l.suspended:
			t.State = suspended
		default:
			t.State = ended
		}
	}
	m.notified(tasks, sh)
}

// lists finds the lists. The kernel has pointers to those that wait for a time only. Where one waits for an event without
// end, the list for that is known, and another one without pointers is that of tasks that were deleted.
func (m *ram) lists(tasks []*Task, sh shape) (l freeRTOSLists) {
	l.ready, l.size = readyLists(m, tasks, sh)
	l.timed = make(map[uint64]bool)
	of := make(map[uint64][]*Task)
	for _, t := range tasks {
		of[m.at(t.Block, sh.owner+1)] = append(of[m.at(t.Block, sh.owner+1)], t)
	}
	const reach = 256 // pointers to a list that are looked at
	looked := make(map[uint64]int)
	for at := range m.words() {
		v, _ := m.mem.Uint(at, int(m.word))
		if of[v] == nil || l.timed[v] || looked[v] == reach {
			continue
		}
		if looked[v]++; !slices.ContainsFunc(tasks, func(t *Task) bool {
			return t.Stack.Contains(at) && (!t.AtMost || at < t.end) || at >= t.Block && at-t.Block < m.word*ownerReach
		}) {
			l.timed[v] = true
		}
	}
	others := 0 // lists that tasks wait in, of which none has a pointer: memory lacks the pointers where there are several
	for _, list := range slices.Sorted(maps.Keys(of)) {
		in := of[list]
		if !l.timed[list] && (l.size == 0 || list != l.ready+l.size*uint64(in[0].Priority)) {
			others++
		}
		if l.suspended == 0 && !l.timed[list] && slices.ContainsFunc(in, func(t *Task) bool { return m.at(t.Block, sh.owner+sh.item+1) != 0 }) {
			l.suspended = list
		}
	}
	if len(l.timed) == 0 && others > 1 {
		l.suspended = 0
	}
	return l
}

// damaged tells of each task whether its control block was overwritten in part: where an event's list is sorted by priority, the
// item's value is the number of priorities less the task's own, so that both add up to the same in all blocks. Values of 64 bits
// are not looked at.
func (m *ram) damaged(tasks []*Task, sh shape) []bool {
	const inUse = 1 << 31 // the value belongs to an event group
	sums, most := make(map[uint64]int), uint64(0)
	sum := func(t *Task) uint64 { return m.at(t.Block, sh.owner+sh.item-3) + m.at(t.Block, sh.lo-1) }
	for _, t := range tasks {
		s := sum(t)
		if sums[s]++; sums[s] > sums[most] {
			most = s
		}
	}
	out := make([]bool, len(tasks))
	for i, t := range tasks {
		used := sum(t) >= inUse && m.at(t.Block, sh.owner+sh.item+1) != 0
		out[i] = sum(t) != most && !used && 2*sums[most] > len(tasks) && (sh.item == 5 || sh.item == 7)
	}
	return out
}

// notified finds the tasks among the suspended ones that wait for a notification: where that is
// (ucNotifyState), depends on the configuration. Behind the name there is a byte at the same distance in all blocks that is 0 or
// 2, and 1 in those that wait.
func (m *ram) notified(tasks []*Task, sh shape) {
	reach := 256 // or to the next block
	for _, t := range tasks {
		for _, o := range tasks {
			if o.Block > t.Block {
				reach = min(reach, int(min(o.Block-t.Block, 1<<20)))
			}
		}
	}
	for off := (sh.lo + 2) * int(m.word); off < reach; off++ {
		if slices.ContainsFunc(tasks, func(t *Task) bool {
			v := m.byteAt(t.Block, off)
			return v > 2 || v == 1 && (t.State == ready || t.State == running)
		}) {
			continue
		}
		for _, t := range tasks {
			if t.State == suspended && m.byteAt(t.Block, off) == 1 {
				t.State = waiting
			}
		}
	}
}

// readyLists is where the array of FreeRTOS' lists of ready tasks begins, and how long each list is in bytes, 0 where that is
// not known. The idle task, of priority 0, is always in the first one; of the sizes that a list may have counts that on which
// most other tasks agree, which wait for no event.
func readyLists(m *ram, tasks []*Task, sh shape) (addr, size uint64) {
	list := func(t *Task) uint64 { return m.at(t.Block, sh.owner+1) }
	const begins = 8 // that are tried
	most, tried := 0, make(map[uint64]bool)
	for _, idle := range tasks {
		if begin := list(idle); begin != 0 && idle.HasPriority && idle.Priority == 0 && !tried[begin] && len(tried) < begins {
			tried[begin] = true
			for _, words := range listSizes(sh.item) {
				agree := make(map[int]bool) // by priority
				for _, t := range tasks {
					if t.HasPriority && t.Priority > 0 && m.at(t.Block, sh.owner+sh.item+1) == 0 && list(t) == begin+m.word*uint64(words*t.Priority) {
						agree[t.Priority] = true
					}
				}
				if len(agree) > most {
					most, addr, size = len(agree), begin, m.word*uint64(words)
				}
			}
		}
	}
	return addr, size
}
