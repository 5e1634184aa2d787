package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Sample is what a sampling profiler takes of a running thread. Addresses are target
// addresses.
type Sample struct {
	Regs cpu.Registers // at least PC and SP; on processors that have one, the link register
	// Stack is a copy of the stack; its first byte lies at Base, at or below SP. What a
	// frame has beyond its end is unreadable.
	Base  uint64
	Stack []byte
}

// sampled is the program as a Sample shows it: the modules of the walker's snapshot, one
// thread, and no memory but its stack.
type sampled struct {
	snap   target.Snapshot
	memory target.Memory
	thread target.Thread
}

// WalkSample appends the frames of a sample to dst, innermost first, and says why the walk
// stopped. The sample is of a process with the modules, processor and pointer
// authentication mask of the walker's snapshot, whose threads and memory play no part. s
// and its stack are not kept. Once the caches know the code that samples run through, and
// dst has room, a walk allocates nothing.
func (w *Walker) WalkSample(s *Sample, dst []Frame) ([]Frame, Stop) {
	if w.sample == nil {
		w.sample = new(sampled)
	}
	p := w.sample
	p.memory.Hold(w.snap.Arch, s.Base, s.Stack)
	p.snap = target.Snapshot{Arch: w.snap.Arch, OS: w.snap.OS, Modules: w.snap.Modules, CodeMask: w.snap.CodeMask, Memory: &p.memory}
	p.thread.Regs = s.Regs
	dst, stop := w.walk(&p.snap, &p.thread, dst, Limits{Cost: MaxCost})
	p.memory.Hold(w.snap.Arch, 0, nil)
	return dst, stop
}
