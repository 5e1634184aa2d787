package rtos

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
		case 3:
			t.State = suspended
		default:
			t.State = waiting
		}
	}
}
