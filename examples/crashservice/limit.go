//go:build linux

package main

import (
	"fmt"
	"os"
	"syscall"
)

// stacks is what a dozen threads may take for their stacks, in bytes: the kernel counts 8 MiB for each, touched or not.
const stacks = 128 << 20

// limitHeap has the kernel refuse more memory than so many bytes, other than that of files and stacks, where
// resident is asked too late on a busy machine. The Go runtime then ends the process.
func limitHeap(most uint64) error {
	most += stacks
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}

// resident is how many bytes of memory this process has, those of mapped files too: proc(5).
func resident() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	var size, pages int64
	if err == nil {
		_, err = fmt.Sscan(string(statm), &size, &pages)
	}
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
