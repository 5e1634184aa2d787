package main

import (
	"log"
	"runtime/debug"
	"time"
)

// tooLarge is what is said of a core that takes more memory than it may; no other end of the process is known.
const tooLarge = "core: to read it fails, or takes more than %d MiB of memory"

// boundMemory ends the process once it has more memory than it may: an upload that unpacks to
// a thousand times its size, or one that is small and describes much. The limit of the Go runtime is
// no bound by itself, as the heap may grow beyond it; that of the system does not count mapped files.
func (l *limits) boundMemory() error {
	most := int64(l.memory) << 20
	debug.SetMemoryLimit(most / 4 * 3) // garbage goes before honest cores come near
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			if resident() > most {
				log.Fatalf(tooLarge, l.memory)
			}
		}
	}()
	return limitHeap(uint64(most))
}
