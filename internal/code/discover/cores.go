package discover

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// onAllCores calls work for the numbers below n, some at a time, on all cores, of which each has a number: no more cores
// than portions. A panic, such as that of an access to a file that was cut short (internal/mapped), goes to the caller.
func onAllCores(n, atOnce int, work func(core, i int)) {
	var next atomic.Int64
	var panicked atomic.Pointer[any]
	some := func(core int) {
		defer func() {
			if r := recover(); r != nil {
				panicked.Store(&r)
			}
		}()
		for i := int(next.Add(int64(atOnce))) - atOnce; i < n; i = int(next.Add(int64(atOnce))) - atOnce {
			for j := i; j < min(i+atOnce, n); j++ {
				work(core, j)
			}
		}
	}
	var others sync.WaitGroup
	for core := 1; core < min(runtime.GOMAXPROCS(0), (n+atOnce-1)/atOnce); core++ {
		others.Go(func() {
			debug.SetPanicOnFault(true)
			some(core)
		})
	}
	some(0)
	others.Wait()
	if r := panicked.Load(); r != nil {
		panic(*r)
	}
}
