// Package stack makes room on a goroutine's stack before it is needed.
package stack

// size is what the work of a backtrace takes of a stack: reading debug information, the names of
// C++ functions.
const size = 48 << 10

// Reserve makes the stack of the calling goroutine large at once; it is called first thing.
//
// Left alone a stack of 2 kB grows in five steps, each of which looks up every function on the
// stack in the program's tables, to move what points into the stack. Deep in the work these are
// functions of all packages: half of the program's own 4 MB of tables came into memory by
// that, a megabyte of the 22 that the backtrace of a core of 1.2 GB took in all.
func Reserve() { room(false) }

// room has a frame of size, of which only use touches anything.
//
//go:noinline
func room(use bool) (last byte) {
	if use {
		var b [size]byte
		fill(&b)
		last = b[size-1]
	}
	return last
}

//go:noinline
func fill(b *[size]byte) {
	for i := range b {
		b[i] = 1
	}
}
