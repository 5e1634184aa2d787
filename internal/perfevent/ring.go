//go:build linux

package perfevent

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is a processor's buffer: a page of what the kernel and the reader tell each other, and a power of two of pages with events.
type ring struct {
	fd     int
	memory []byte
}

// ringPages is what the kernel allows everybody (kernel.perf_event_mlock_kb, 516 kB a processor).
const ringPages = 128

func mapRing(fd int) (r ring, err error) {
	for pages := ringPages; pages > 0; pages /= 2 { // fewer where others have what is allowed
		r = ring{fd: fd}
		r.memory, err = unix.Mmap(fd, 0, (1+pages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return r, nil
		}
	}
	return r, fmt.Errorf("mapping the buffer of events: %w", err)
}

// take appends the events that came since the last time, and gives their room back.
func (r *ring) take(dst []byte) []byte {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.memory[0]))
	data := r.memory[os.Getpagesize():]
	size := uint64(len(data))
	head, tail := atomic.LoadUint64(&page.Data_head), atomic.LoadUint64(&page.Data_tail)
	if n := head - tail; n <= size {
		from := tail % size
		first := min(n, size-from)
		dst = append(append(dst, data[from:from+first]...), data[:n-first]...)
	}
	atomic.StoreUint64(&page.Data_tail, head)
	return dst
}
