package rtos

// The bytes of RTX5's control block (osRtxThread_t in rtx_os.h), counted from the saved SP:
// identification, state, priority.
const (
	rtxID                               = 0xf1
	rtxIDAt, rtxStateAt, rtxPriorityAt  = -56, -55, -24
	rtxReady, rtxRunning, rtxTerminated = 1, 2, 4
	rtxBlocked                          = 3
)

func isRTX(m *ram, block uint64) bool {
	return m.word == 4 && m.byteAt(block, rtxIDAt) == rtxID && m.byteAt(block, rtxStateAt)&0xf <= rtxTerminated
}

func statesRTX(m *ram, tasks []*Task, _ shape) {
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(int8(m.byteAt(t.Block, rtxPriorityAt))), true
		state := m.byteAt(t.Block, rtxStateAt)
		if state == rtxBlocked {
			t.State = suspended
			continue
		}
		switch state & 0xf { // the rest says what a task waits for, 0 for nothing (osThreadSuspend)
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
