package backsight

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// walkers are those of earlier snapshots, with what they have cached: a batch mostly
// has the same binaries again and again.
type walkers struct {
	mu   sync.Mutex
	idle []*unwind.Walker
}

// take returns an idle walker, else a new one, over snap.
func (l *walkers) take(u *Unwinder, snap *target.Snapshot) *unwind.Walker {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.idle)
	if n == 0 {
		return u.Walker(snap)
	}
	w := l.idle[n-1]
	l.idle = l.idle[:n-1]
	w.Use(snap)
	return w
}

// put keeps a walker for the next snapshot, as many as can run at a time.
func (l *walkers) put(w *unwind.Walker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) < runtime.GOMAXPROCS(0) {
		l.idle = append(l.idle, w)
	}
}

// threadsEach is how many threads are worth a goroutine of their own: unwinding
// eight takes some 100 µs.
const threadsEach = 8

// walk unwinds the threads of a snapshot into out and returns how many there are
// before the first that ctx's end left out.
func (u *Unwinder) walk(ctx context.Context, snap *target.Snapshot, out []Backtrace) int {
	var next atomic.Int64
	work := func() {
		w := u.idle.take(u, snap)
		defer u.idle.put(w)
		var frames []unwind.Frame
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(out) {
				return
			}
			t := &snap.Threads[i]
			frames, out[i].Stop = w.Walk(t, frames[:0])
			out[i].Frames, out[i].Thread = slices.Clone(frames), t
		}
	}
	var others sync.WaitGroup
	for range helpers(len(out)) {
		others.Go(work)
	}
	work()
	others.Wait()
	for i := range out {
		if out[i].Thread == nil {
			return i
		}
	}
	return len(out)
}

// helpers is how many goroutines help with n threads.
func helpers(n int) int { return min(runtime.GOMAXPROCS(0)-1, n/threadsEach) }
