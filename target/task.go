package target

// Task is what a kernel knows of a thread beside its registers.
type Task struct {
	// State is "running", "ready", "waiting", "suspended" or "ended"; of Linux's tasks also what they wait for,
	// "sleeping", "uninterruptible", "idle", "stopped", "traced" or "parked", and how they ended,
	// "zombie" or "dead". "" where the kernel's control block is not known well enough.
	State string
	// Priority as the kernel counts; HasPriority: it is known.
	Priority    int
	HasPriority bool
	// Unused is how many bytes at the low end of the stack still have the pattern that the
	// kernel filled the stack with. Filled: there is such a pattern.
	Unused uint64
	Filled bool
	// AtMost: the kernel does not state where the stack ends; what is known to lie behind bounds the stack.
	AtMost bool
	// Overflown: the pattern at the very end of the stack was overwritten, by the task or by
	// the owner of the memory below.
	Overflown bool
}
