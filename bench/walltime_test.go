//go:build !linux

package bench_test

import "time"

// threadTime is wall time where there is no clock of a thread.
func threadTime() (now func() time.Duration, release func()) {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }, func() {}
}

// processTime is wall time as well.
func processTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
