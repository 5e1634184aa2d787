package backsight

import (
	"runtime"
	"sync"

	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Walker returns a walker over snap that belongs to one goroutine: what a profiler
// uses for all its samples, moving it to the next with Walker.Use.
func (u *Unwinder) Walker(snap *target.Snapshot) *unwind.Walker {
	return unwind.NewWalker(snap, u.opt)
}

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
