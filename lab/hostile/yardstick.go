package hostile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The work of the yardstick, and what that takes on the machine on which MaxCPU was decided.
const (
	yardstickWords = 1 << 20
	yardstickTime  = 200 * time.Millisecond
	yardsticks     = 5
)

// slowness is how many times as long as the machine on which MaxCPU was decided this machine takes for a piece of
// work at the moment, 1 at least: another program on the same core changes times by half, and so do two threads of
// the command, where two processors are one core. All processors are measured at once; the median counts.
func slowness() float64 {
	took := make([]time.Duration, yardsticks*runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for processor := range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range yardsticks {
				took[processor*yardsticks+i] = yardstick()
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return max(1, float64(took[len(took)/2])/float64(yardstickTime))
}

// yardstick sorts and counts numbers, and is how long that took.
func yardstick() time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := onProcessor()
	rng := rand.New(rand.NewPCG(1, 2))
	words, seen := make([]uint32, yardstickWords), make(map[uint32]int)
	for i := range words {
		words[i] = rng.Uint32()
		seen[words[i]%(yardstickWords/8)]++
	}
	slices.Sort(words)
	return onProcessor() - begin
}

// onProcessor is how long this thread has run (Documentation/scheduler/sched-stats.rst); where the system does not
// tell, the time.
func onProcessor() time.Duration {
	var ns int64
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err == nil {
		_, err = fmt.Sscan(string(text), &ns)
	}
	if err != nil {
		ns = time.Now().UnixNano()
	}
	return time.Duration(ns)
}
