package target

// Task is what a scheduler knows of a thread beside its registers: a kernel, or Go's runtime.
type Task struct {
	// State is "running", "ready", "waiting", "suspended" or "ended"; of Linux's tasks also what they wait for,
	// "sleeping", "uninterruptible", "idle", "stopped", "traced" or "parked", and how they ended,
	// "zombie" or "dead". "" where the kernel's control block is not known well enough.
	State string
	// Call is the system call that the thread waits in, and Channel the kernel's function that it sleeps in; "" where nobody says.
	Call, Channel string
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
	// Kernel is the thread as the kernel has it, in a snapshot of a program that was made out of a machine's memory: where it stands in
	// the kernel, and nil where it was not there. The thread's own registers are then those with which it entered the kernel.
	Kernel *KernelSide
	// Goroutine says which goroutine the thread is, nil for another kind of thread.
	Goroutine *Goroutine
}

// KernelSide is a thread of a machine's snapshot. Saved is where the kernel's entry puts the program's registers, where they are the
// program's only if functions of the kernel have frames below: the processor may have stopped before they were saved. 0: they are.
type KernelSide struct {
	Machine *Snapshot
	Thread  *Thread
	Saved   uint64
}

// Goroutine is what Go's runtime knows of a goroutine.
type Goroutine struct {
	ID uint64
	// Record is the address of what the runtime keeps of the goroutine, its g.
	Record uint64
	// State is what it does or waits for in the runtime's words: "running", "syscall", "chan receive".
	State string
	// Runs: a thread of the system runs it, whose ID the thread has.
	Runs bool
	// System: of the runtime itself.
	System bool
	// Start is the function that it began in, Created the return address of the go statement, 0 if unknown; Parent is the goroutine that
	// started it, 0 if unknown.
	Start, Created, Parent uint64
	// Panic is the address of the runtime's record of the panic that the goroutine is in, 0 for none.
	Panic uint64
}
