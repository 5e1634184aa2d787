package rtos

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// readyToRun is the kernel's list of the tasks that are ready.
const readyToRun = "g_readytorun"

// The control block of NuttX since 10.3 (struct tcb_s of nuttx/sched.h) has the task's number, its priority, two functions, by which it
// starts and its own, and its state one behind the other, all before the saved SP.
const (
	nuttxPid, nuttxPriority = 8, 4 // in bytes before the first function
	nuttxStates             = 14   // the highest state
	// nuttxInactive is a task that was not activated yet, those below it are ready, the last of them runs. With several processors
	// there is one more state of those that are ready.
	nuttxInactive = 4
)

// nuttxStart is how many words before the saved SP control blocks have the first function: most tasks start by the same one, and
// each has a number of its own.
func nuttxStart(m *ram, tasks []*Task) (words int, ok bool) {
	for words = -2; words >= -reach; words-- {
		starts, pids, most := make(map[uint64]int), make(map[uint64]bool), 0
		for _, t := range tasks {
			if !m.isNuttX(t.Block, words) {
				break
			}
			start := m.at(t.Block, words)
			starts[start]++
			most = max(most, starts[start])
			pid, _ := m.mem.Uint(m.wordAt(t.Block, words)-nuttxPid, 4)
			pids[pid] = true
		}
		if len(pids) == len(tasks) && 2*most >= len(tasks) && most > 1 {
			return words, true
		}
	}
	return 0, false
}

// isNuttX tells whether a control block has two functions, a task's number and a state where NuttX has them. Functions lie in no
// memory that was captured.
func (m *ram) isNuttX(block uint64, words int) bool {
	const numbers = 1 << 20
	at := m.wordAt(block, words)
	for i := range 2 {
		f, ok := m.lookup(block, words+i)
		if _, in := m.run(f); !ok || in || f == 0 {
			return false
		}
	}
	pid, _ := m.mem.Uint(at-nuttxPid, 4)
	pad, _ := m.mem.Uint(at-2, 2)
	state := m.byteAt(at, 2*int(m.word))
	return pid < numbers && pad == 0 && state > 0 && state <= nuttxStates
}

func areNuttX(m *ram, tasks []*Task, sh shape) bool {
	_, ok := nuttxStart(m, tasks)
	return sh.other == sh.lo-2 && ok
}

// marksNuttX are marks of a control block: a function by which tasks start, and what stands around it.
func marksNuttX(m *ram, tasks []*Task) func(*ram, uint64) bool {
	words, _ := nuttxStart(m, tasks)
	starts := make(map[uint64]bool)
	for _, t := range tasks {
		starts[m.at(t.Block, words)] = true
	}
	return func(m *ram, block uint64) bool { return m.isNuttX(block, words) && starts[m.at(block, words)] }
}

// statesNuttX reads the states of tasks. Where several run there are several processors.
func statesNuttX(m *ram, tasks []*Task, _ shape) {
	words, _ := nuttxStart(m, tasks)
	state := func(t *Task) int { return int(m.byteAt(m.wordAt(t.Block, words), 2*int(m.word))) }
	inactive, last := nuttxInactive, 0
	for _, t := range tasks {
		if state(t) == inactive {
			last++
		}
	}
	if last > 1 {
		inactive++
	}
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.byteAt(m.wordAt(t.Block, words), -nuttxPriority)), true
		switch s := state(t); {
		case s == inactive-1:
			t.State = running
		case s < inactive:
			t.State = ready
		case s == inactive:
			t.State = suspended
		default:
			t.State = waiting
		}
	}
}

// listedNuttX reads the states of tasks from the list of those that are ready, where the binary
// has its symbol: the first one runs. Other fields of the control blocks differ too much between
// versions before 10.3 to be found, unless the kernel was built to tell debuggers where they are.
func listedNuttX(m *ram, modules []*target.Module, tasks []*Task) {
	blocks := m.readyNuttX(modules)
	if len(blocks) == 0 {
		return
	}
	for _, t := range tasks {
		t.State = waiting
	}
	var begin uint64 // of a control block: how far before the saved SP
	for n, block := range blocks {
		if t := taskAt(tasks, block); t != nil {
			begin = t.Block - block
			if t.State = ready; n == 0 {
				t.State = running
			}
		}
	}
	if off, ok := priorityNuttX(modules); ok && begin != 0 {
		for _, t := range tasks {
			t.Priority, t.HasPriority = int(m.byteAt(t.Block-begin, int(off))), true
		}
	}
}

// readyNuttX are where the control blocks begin of the tasks that are ready, the one that runs first.
func (m *ram) readyNuttX(modules []*target.Module) (blocks []uint64) {
	for head, _ := m.variable(modules, readyToRun, 0); head != 0 && len(blocks) < maxTasks; head = m.at(head, 0) {
		blocks = append(blocks, head)
	}
	return blocks
}

// runsNuttX is the control block of the task that runs, whose context may never have been saved, as far as that of another ready
// one is known.
func (m *ram) runsNuttX(modules []*target.Module, tasks []*Task) (block uint64, ok bool) {
	blocks := m.readyNuttX(modules)
	for _, at := range blocks {
		if t := taskAt(tasks, at); t != nil {
			return blocks[0] + t.Block - at, true
		}
	}
	return 0, false
}

// priorityNuttX is where a control block has the priority, in bytes from its begin: the third of
// the offsets, 16 bits each, in g_tcbinfo (struct tcbinfo_s of nuttx/sched.h, with
// CONFIG_DEBUG_TCBINFO).
func priorityNuttX(modules []*target.Module) (off uint16, ok bool) {
	const third = 2 * 2
	for _, module := range modules {
		if module.Image == nil {
			continue
		}
		if sym, has := module.Image.Symbols.Named("g_tcbinfo"); has {
			if b := module.Image.Segments.Bytes(sym.Addr); len(b) >= third+2 {
				return bin.Order(module.Image.Arch.BigEndian).U16(b[third:]), true
			}
		}
	}
	return 0, false
}
