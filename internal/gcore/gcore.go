// Package gcore makes a small ELF core of a process that runs or dies, as GDB's gcore makes a large one: the registers of all threads, their
// stacks, the data of binaries, the vDSO, and of code only what no file has. The process stands still while registers and stacks
// are copied.
//
//	PTRACE_SEIZE, PTRACE_INTERRUPT, all threads ─► registers, stacks ─► PTRACE_DETACH ─► the rest of memory ─► ELF core
//	the kernel's dump: header, notes ─► registers, mappings ─► stacks, the rest of memory ─► ELF core
//
// Specifications: ptrace(2), proc(5), core(5), elf(5); include/linux/elfcore.h.
package gcore

import (
	"bytes"
	"cmp"
	"io"
	"time"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/procfs"
)

// Options say what is copied.
type Options struct {
	Archs cpu.Set
	// Freeze: the process stands still until the core is released.
	Freeze bool
	// Stack bounds the bytes of the first thread's stack, Others those of each other's, Total those of all memory; 0: a gigabyte.
	Stack, Others, Total uint64
}

func (o *Options) total() uint64 { return cmp.Or(o.Total, 1<<30) }

// Core is a small core of a process.
type Core struct {
	parts   [][]byte
	Threads map[int]string // their names, by ID
	// Waits are what threads waited for in the kernel, by ID, when they were asked to stop.
	Waits map[int]procfs.Wait
	// Stopped is how long the process stood still.
	Stopped time.Duration
	// Missed are threads that could not be stopped in time, or whose registers were too many.
	Missed int
	// Alive: of a process that died, memory was its own.
	Alive   bool
	release func()
}

// Reader reads the core, an ELF file, from its beginning.
func (c *Core) Reader() io.Reader {
	readers := make([]io.Reader, len(c.parts))
	for i := range c.parts {
		readers[i] = bytes.NewReader(c.parts[i])
	}
	return io.MultiReader(readers...)
}

// Release lets a frozen process go on.
func (c *Core) Release() {
	if c.release != nil {
		c.release()
	}
}
