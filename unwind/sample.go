package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Walker walks stacks of one snapshot after the other. It owns scratch space: one per goroutine.
type Walker interface {
	// Walk appends the frames of thread t to dst, innermost first, and says why it stopped. A thread whose PC is unknown
	// has no frames.
	Walk(t *target.Thread, dst []Frame) ([]Frame, Stop)
	// WalkSample appends the frames of a sample to dst, innermost first, and says why the walk stopped. The sample is of a
	// process with the modules, processor and pointer authentication mask of the walker's snapshot, whose threads and
	// memory play no part. s and its stack are not kept. Once the caches know the code that samples run through, and dst
	// has room, a walk allocates nothing.
	WalkSample(s *Sample, dst []Frame) ([]Frame, Stop)
	// Use makes the walker walk another snapshot. The walker's caches stay where the other snapshot has the same modules
	// at the same addresses, as the samples of a profiler and the snapshots of a batch have.
	Use(snap *target.Snapshot)
	// Repeats are the repeats of the frames that the last walk appended, where long recursion is folded; valid until the
	// next walk.
	Repeats() Repeats
}

// DefaultMaxFrames is how many frames a backtrace has at most, where nothing else is said.
const DefaultMaxFrames = 1024

// Sample is what a sampling profiler takes of a running thread. Addresses are target
// addresses.
type Sample struct {
	Regs cpu.Registers // at least PC and SP; on processors that have one, the link register
	// Stack is a copy of the stack; its first byte lies at Base, at or below SP. What a
	// frame has beyond its end is unreadable.
	Base  uint64
	Stack []byte
}
