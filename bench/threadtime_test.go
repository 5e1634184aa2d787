//go:build linux

package bench_test

import (
	"runtime"
	"syscall"
	"time"
)

// threadTime is the CPU time that the calling thread has used; the thread stays the
// caller's until release is called. On a busy machine it says what the clock does
// not.
func threadTime() (now func() time.Duration, release func()) {
	const thread = 1 // RUSAGE_THREAD
	runtime.LockOSThread()
	return func() time.Duration { return used(thread) }, runtime.UnlockOSThread
}

// processTime is the CPU time that all threads have used.
func processTime() time.Duration { return used(syscall.RUSAGE_SELF) }

func used(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
