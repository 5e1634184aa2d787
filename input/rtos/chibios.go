package rtos

// The states of ChibiOS' threads (chschd.h) that are not waits for something: the byte of the
// state follows the bounds of the stack. The priority stands right before the saved SP.
const (
	chibiReady, chibiCurrent, chibiSuspended, chibiFinal = 0, 1, 3, 15
	chibiPriority                                        = -1
)

func statesChibiOS(m *ram, tasks []*Task, sh shape) {
	state := sh.lo + 1
	if sh.high {
		state++
	}
	for _, t := range tasks {
		t.Priority, t.HasPriority = int(m.at(t.Block, chibiPriority)), true
		switch m.byteAt(t.Block, state*int(m.word)) {
		case chibiReady:
			t.State = ready
		case chibiCurrent:
			t.State = running
		case chibiSuspended:
			t.State = suspended
		case chibiFinal:
			t.State = ended
		default:
			t.State = waiting
		}
	}
}
