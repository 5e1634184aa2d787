package rtos

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
)

// The base of Zephyr's control block (struct _thread_base of kernel/thread.h, 2.0 to 4.x): the
// node of a list, what the thread waits for, then bytes: options, state, priority, how often
// the scheduler is locked.
const (
	zephyrPended                            = 2 // in words
	zephyrBytes                             = 3 // in words
	zephyrState, zephyrPriority, zephyrLock = 1, 2, 3
	zephyrDummy, zephyrPending              = 1 << 0, 1 << 1
	zephyrDead, zephyrQueued                = 1 << 3, 1 << 7
	zephyrSuspended                         = 1 << 4
)

// zephyrBase is how many words before the saved SP the control blocks of tasks begin: how long
// their base is, depends on the kernel's configuration. A thread that is ready or waits is in a
// list, whose links lead back to the thread; two threads at least must be in one.
func zephyrBase(m *ram, tasks []*Task) (words int, ok bool) {
	const least, most = 4, 40
	for words = least; words <= most; words++ {
		listed := 0
		for _, t := range tasks {
			in, is := m.zephyrThread(t.Block - m.word*uint64(words))
			if !is {
				listed = -len(tasks)
			}
			if in {
				listed++
			}
		}
		if listed >= 2 {
			return words, true
		}
	}
	return 0, false
}

// zephyrThread tells whether a thread's base may lie at an address, and whether the thread is
// in a list.
func (m *ram) zephyrThread(at uint64) (listed, ok bool) {
	const lists = zephyrQueued | zephyrPending
	state := m.byteAt(at, int(m.word)*zephyrBytes+zephyrState)
	pended := m.at(at, zephyrPended)
	if state&zephyrDummy != 0 || state&lists == lists || (pended != 0) != (state&zephyrPending != 0) ||
		m.byteAt(at, int(m.word)*zephyrBytes+zephyrLock) != 0 {
		return false, false
	}
	if state&lists == 0 {
		return false, true
	}
	next, previous := m.at(at, 0), m.at(at, 1)
	return true, m.at(next, 1) == at && m.at(previous, 0) == at
}

func isZephyr(m *ram, tasks []*Task, _ shape) bool {
	_, ok := zephyrBase(m, tasks)
	return ok
}

// marksZephyr are marks of a thread's control block: links that lead back to the thread or to its timeout.
func marksZephyr(m *ram, tasks []*Task) func(*ram, uint64) bool {
	words, _ := zephyrBase(m, tasks)
	return func(m *ram, block uint64) bool {
		at := block - m.word*uint64(words)
		listed, ok := m.zephyrThread(at)
		return ok && (listed || m.zephyrTimed(at, words))
	}
}

// zephyrTimed tells whether a thread's timeout runs: the base, of so many words, has the node of a list behind what a switch
// returns, whose links lead back. Until 4.0 who sleeps is marked as suspended, too (z_tick_sleep of kernel/sched.c).
func (m *ram) zephyrTimed(at uint64, words int) bool {
	for i := zephyrBytes + 1; i < words; i++ {
		node := at + m.word*uint64(i)
		if next, previous := m.at(node, 0), m.at(node, 1); next != node && m.at(next, 1) == node && m.at(previous, 0) == node {
			return true
		}
	}
	return false
}

// statesZephyr reads the states of tasks. Who is in no list sleeps, or is suspended, or is an idle thread, those of the last priority, or
// runs: with several processors the ready queue has only those that do not.
func statesZephyr(m *ram, tasks []*Task, _ shape) {
	words, _ := zephyrBase(m, tasks)
	last := 0
	for _, t := range tasks {
		at := t.Block - m.word*uint64(words)
		t.Priority, t.HasPriority = int(int8(m.byteAt(at, int(m.word)*zephyrBytes+zephyrPriority))), true
		last = max(last, t.Priority)
	}
	for _, t := range tasks {
		at := t.Block - m.word*uint64(words)
		state := m.byteAt(at, int(m.word)*zephyrBytes+zephyrState)
		switch timed := m.zephyrTimed(at, words); {
		case state&zephyrQueued != 0 || state == 0 && !timed && t.Priority == last:
			t.State = ready
		case state == 0 && !timed:
			t.State = running
		case state&zephyrDead != 0:
			t.State = ended
		case state&(zephyrSuspended|zephyrPending) == zephyrSuspended && !timed:
			t.State = suspended
		default:
			t.State = waiting
		}
	}
}

// exceptionFrames corrects the SP of Zephyr's tasks on a Cortex-M that were left with an
// extended exception frame. The kernel keeps the lowest byte of EXC_RETURN in the control block
// (struct _thread_arch of arch/arm/thread.h), in the second byte of a word with some flags, where
// it is built for tasks that share the floating-point unit. Where that word is, depends on the
// kernel's configuration: at the same distance in all control blocks there is one that has
// nothing else.
func exceptionFrames(m *ram, arch *cpu.Arch, tasks []Task) {
	const reach = 96 // words
	for i := range reach {
		if slices.ContainsFunc(tasks, func(t Task) bool { _, ok := m.exceptionMode(t.Block, i+1); return !ok }) {
			continue
		}
		for k := range tasks {
			ret, _ := m.exceptionMode(tasks[k].Block, i+1)
			status := tasks[k].Regs.Val[arch.Status]
			tasks[k].Regs.Set(arch.SP, tasks[k].saved+ret.FrameSize(status))
		}
		return
	}
}

// exceptionMode is EXC_RETURN out of a word of a control block of Zephyr, if that may be the one.
func (m *ram) exceptionMode(block uint64, words int) (ret cortexm.ExcReturn, ok bool) {
	const flags, lowest = 0x000f, 0xff00
	v, ok := m.lookup(block, words)
	ret = cortexm.ExcReturn(0xffff_ff00 | v>>8)
	return ret, ok && v&^(flags|lowest) == 0 && ret.Valid() && ret.ProcessStack()
}
