package rtos

// The words of ThreadX' control block (TX_THREAD in tx_api.h, without extensions): an
// identification in front, "THRD", behind the stack its bounds, the name, priority, state.
const (
	threadXID       = 0x54485244
	threadXPriority = 9 // the word, of which priority and state have 32 bits each
	threadXStates   = 14
)

func isThreadX(m *ram, block uint64) bool {
	_, state := m.threadX(block)
	return m.at(block, -2) == threadXID && state <= threadXStates
}

// threadX is what a control block says of priority and state.
func (m *ram) threadX(block uint64) (priority, state uint64) {
	at := m.wordAt(block, threadXPriority)
	priority, _ = m.mem.Uint(at, 4)
	state, _ = m.mem.Uint(at+4, 4)
	return priority, state
}

func statesThreadX(m *ram, tasks []*Task, _ shape) {
	for _, t := range tasks {
		priority, state := m.threadX(t.Block)
		t.Priority, t.HasPriority = int(priority), true
		switch state {
		case 0:
			t.State = ready
		case 1, 2:
			t.State = ended
		case 3:
			t.State = suspended
		default:
			t.State = waiting
		}
	}
}
