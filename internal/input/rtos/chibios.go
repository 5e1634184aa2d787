package rtos

import "slices"

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
		switch s := m.byteAt(t.Block, state*int(m.word)); s {
		case chibiReady:
			t.State = ready
		case chibiCurrent:
			t.State = running
		case chibiSuspended:
			t.State = suspended
		case chibiFinal:
			t.State = ended
		default:
			if t.State = waiting; s > chibiFinal {
				t.State = "" // the block was overwritten
			}
		}
	}
}

// marksChibiOS are marks of a control block: its links in the registry of all threads (CH_CFG_USE_REGISTRY), which stand at the same
// distance from the saved SP in each.
func marksChibiOS(m *ram, tasks []*Task) func(*ram, uint64) bool {
	const reach = 8 // words: the links lie before the name, or since 8.0 behind it
	for words := 1; words <= reach; words++ {
		if len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t *Task) bool { return !m.ringed(m.wordAt(t.Block, words)) }) {
			return func(m *ram, block uint64) bool { return m.ringed(m.wordAt(block, words)) }
		}
	}
	return nil
}

// ringed tells whether two links stand at an address, to the next and the previous item of a list, of which at least one points back:
// the other may have been overwritten.
func (m *ram) ringed(at uint64) bool {
	next, previous := m.at(at, 0), m.at(at, 1)
	_, nextIn := m.run(next)
	_, previousIn := m.run(previous)
	return nextIn && previousIn && next != at && previous != at && next%m.word == 0 && previous%m.word == 0 &&
		(m.at(next, 1) == at || m.at(previous, 0) == at)
}
