package rtos

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// statesNuttX reads the states of tasks from the list of those that are ready, where the binary
// has its symbol: the first one runs. Other fields of the control blocks differ too much between
// versions to be found, unless the kernel was built to tell debuggers where they are.
func statesNuttX(m *ram, modules []*target.Module, tasks []*Task) {
	head, ok := m.variable(modules, "g_readytorun", 0)
	if !ok {
		return
	}
	for _, t := range tasks {
		t.State = waiting
	}
	var begin uint64 // of a control block: how far before the saved SP
	for n := 0; head != 0 && n < maxTasks; n++ {
		if t := taskAt(tasks, head); t != nil {
			begin = t.Block - head
			if t.State = ready; n == 0 {
				t.State = running
			}
		}
		head = m.at(head, 0)
	}
	if off, ok := priorityNuttX(modules); ok && begin != 0 {
		for _, t := range tasks {
			t.Priority, t.HasPriority = int(m.byteAt(t.Block-begin, int(off))), true
		}
	}
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
