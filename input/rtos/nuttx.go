package rtos

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// readyToRun is the kernel's list of the tasks that are ready.
const readyToRun = "g_readytorun"

// statesNuttX reads the states of tasks from the list of those that are ready, where the binary
// has its symbol: the first one runs. Other fields of the control blocks differ too much between
// versions to be found, unless the kernel was built to tell debuggers where they are.
func statesNuttX(m *ram, modules []*target.Module, tasks []*Task) {
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
