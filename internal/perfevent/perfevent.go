// Package perfevent has the Linux kernel take samples of a process while it runs, registers and a copy of the stack, and writes
// them as perf record does to a pipe, which package internal/input/perfdata reads.
//
//	perf_event_open ─► a ring buffer for each processor ─► Copy ─► header, what ran before, events of the buffers in rounds
//
// Specification: perf_event_open(2), tools/perf/Documentation/perf.data-file-format.txt.
package perfevent

// Options say what is recorded.
type Options struct {
	Frequency int  // samples a second of running time
	Stack     int  // bytes of the stack in each sample, a multiple of 8
	Kernel    bool // samples in the kernel, too
}

// MaxStack is how many bytes of the stack a sample has at most: its size is told in 16 bits.
const MaxStack = 1<<16 - 8
