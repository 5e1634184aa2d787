// Package gcore makes a small ELF core of a process that runs, as GDB's gcore makes a large one: the registers of all threads, their
// stacks, the data of binaries, the vDSO, and of code only what no file has. The process stands still while registers and stacks
// are copied.
//
//	PTRACE_SEIZE, PTRACE_INTERRUPT, all threads ─► registers, stacks ─► PTRACE_DETACH ─► the rest of memory ─► ELF core
//
// Specifications: ptrace(2), proc(5), core(5), elf(5); include/linux/elfcore.h.
package gcore

import (
	"time"

	"github.com/backsight/backsight/cpu"
)

// Options say what is copied.
type Options struct {
	Archs cpu.Set
	// Stack bounds the bytes of each thread's stack.
	Stack uint64
}

// Core is a small core of a process.
type Core struct {
	Data    []byte
	Threads map[int]string // their names, by ID
	// Stopped is how long the process stood still.
	Stopped time.Duration
	// Missed are threads that could not be stopped in time.
	Missed int
}
