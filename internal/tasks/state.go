package tasks

// The bits of task_struct.__state and exit_state (include/linux/sched.h), as they are since Linux
// 4.14.
const (
	taskInterruptible   = 0x1
	taskUninterruptible = 0x2
	taskStopped         = 0x4
	taskTraced          = 0x8
	exitDead            = 0x10
	exitZombie          = 0x20
	taskParked          = 0x40
	taskDead            = 0x80
	taskNoLoad          = 0x400
	anyState            = 0xffff
)

// findState finds task_struct.__state: the last word before stack, of 32 bits (before Linux 5.14 it
// was a long). On processors of 32 bits, where saved_state stands between since Linux 6.6, it may be
// the word before.
func (f *finder) findState() {
	if !f.stack.known {
		return
	}
	last := f.stack.at - distance(f.word)
	for d := range f.distances(span{last, last - 8, -4}, []string{"__state"}, []string{"state"}) {
		if f.areStates(d) {
			f.state = field{d, true}
			break
		}
	}
	for d := range f.distances(span{}, []string{"exit_state"}) {
		f.exit = field{d, true}
	}
}

// areStates tells whether the words at a distance are states of tasks, and some task sleeps.
func (f *finder) areStates(d distance) bool {
	sleeping := 0
	for _, t := range f.found {
		v, ok := f.Memory.Uint(at(t, d), 4)
		if !ok || v > anyState {
			return false
		}
		if v&(taskInterruptible|taskUninterruptible) != 0 {
			sleeping++
		}
	}
	return sleeping*2 > len(f.found)
}

// stateOf is what a task did, "" where that is not known.
func (f *finder) stateOf(comm uint64, onCPU bool) string {
	if f.exit.known {
		switch v, _ := f.Memory.Uint(at(comm, f.exit.at), 4); {
		case v&exitZombie != 0:
			return "zombie"
		case v&exitDead != 0:
			return "dead"
		}
	}
	v, ok := f.Memory.Uint(at(comm, f.state.at), 4)
	switch {
	case !f.state.known || !ok:
		return ""
	case onCPU:
		return "running"
	case v&taskDead != 0:
		return "zombie" // a dead task stays on the list until its parent has asked for its exit status
	case v&taskParked != 0:
		return "parked"
	case v&taskTraced != 0:
		return "traced"
	case v&taskStopped != 0:
		return "stopped"
	case v&(taskUninterruptible|taskNoLoad) == taskUninterruptible|taskNoLoad:
		return "idle"
	case v&taskUninterruptible != 0:
		return "uninterruptible"
	case v&taskInterruptible != 0:
		return "sleeping"
	case v == 0:
		return "ready"
	}
	return ""
}
