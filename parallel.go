package backsight

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/internal/chain"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/stack"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// walkers are the idle walkers of earlier snapshots. Their caches are worth keeping: the
// snapshots of a batch mostly have the same binaries mapped at the same places.
type walkers struct {
	opt  stackwalk.Options
	mu   sync.Mutex
	idle []*stackwalk.Walker
}

// walkersFor are those for a snapshot. The samples of a profile have too many places for proofs.
func (u *Unwinder) walkersFor(snap *target.Snapshot) *walkers {
	if snap.Sampled {
		return &u.sampling
	}
	return &u.idle
}

// take returns an idle walker, else a new one, over snap.
func (l *walkers) take(snap *target.Snapshot) *stackwalk.Walker {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.idle)
	if n == 0 {
		return stackwalk.NewWalker(snap, l.opt)
	}
	w := l.idle[n-1]
	l.idle = l.idle[:n-1]
	w.Use(snap)
	return w
}

// put keeps a walker for the next snapshot; no more walkers than can run at a time.
func (l *walkers) put(w *stackwalk.Walker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) < runtime.GOMAXPROCS(0) {
		l.idle = append(l.idle, w)
	}
}

// forget drops the idle walkers, and what all have learned.
func (l *walkers) forget() {
	l.mu.Lock()
	l.idle = nil
	l.mu.Unlock()
	l.opt.Shared.Forget()
}

// threadsEach is how many threads are worth a goroutine of their own: unwinding
// four takes some 50 µs.
const threadsEach = 4

// batch is how many threads are walked with the same limits, before the cost of their walks is taken
// off the limits of the next threads.
const batch = 16

// forgetEvery is after how many threads the pages of their stacks are given back: each takes 64 kB.
const forgetEvery = 8 * batch

// walk unwinds the threads of a snapshot into out and returns how many backtraces there
// are before the first that was left out: because ctx had ended, or because a file cannot
// be read any more.
func (u *Unwinder) walk(ctx context.Context, snap *target.Snapshot, out []Backtrace) (n int, err error) {
	allowance, spent := stackwalk.NewAllowance(snap), make([][]stackwalk.Spent, min(batch, len(out)))
	for first := 0; first < len(out) && err == nil && ctx.Err() == nil; first += batch {
		if first > 0 {
			allowance.ChargeAll(spent)
		}
		r := round{snap: snap, allowance: allowance, first: first, out: out[first:min(first+batch, len(out))], spent: spent}
		err = u.walkRound(ctx, &r)
		if walked := first + len(r.out); snap.Forget != nil && (walked%forgetEvery == 0 || walked == len(out) && (walked > batch || snap.Sampled)) {
			snap.Forget()
		}
	}
	n = slices.IndexFunc(out, func(b Backtrace) bool { return b.Thread == nil })
	if n < 0 {
		n = len(out)
	}
	u.forget(snap, n)
	return n, cmp.Or(err, ctx.Err())
}

// forgetImagesEvery is after how many samples of a profile the pages of its binaries are given back: each sample interrupts code where
// none did before, and what says how to unwind there takes 64 kB.
const forgetImagesEvery = 256

// forget gives back the pages of the binaries of a profile's snapshot, of which n samples were walked, when it is time.
func (u *Unwinder) forget(snap *target.Snapshot, n int) {
	if !snap.Sampled || u.sampled.Add(int64(n)) < forgetImagesEvery {
		return
	}
	u.sampled.Store(0)
	for _, m := range snap.Modules {
		if m.Image != nil {
			m.Image.Files.Forget()
		}
	}
}

// round is a batch of threads while they are walked: what each spent stands beside its backtrace.
type round struct {
	snap      *target.Snapshot
	allowance *stackwalk.Allowance
	first     int // of the snapshot's threads
	out       []Backtrace
	spent     [][]stackwalk.Spent
	next      atomic.Int64
}

// walkRound unwinds the threads of a batch side by side. A walker that a file broke off is not
// used again.
func (u *Unwinder) walkRound(ctx context.Context, r *round) error {
	var failed atomic.Pointer[error]
	work := func() {
		stack.Reserve()
		idle := u.walkersFor(r.snap)
		w := idle.take(r.snap)
		fault := mapped.Guard(func() { u.walkThreads(ctx, w, r) })
		if fault != nil {
			failed.CompareAndSwap(nil, &fault)
			return
		}
		idle.put(w)
	}
	var others sync.WaitGroup
	for range helpers(r.snap, len(r.out)) {
		others.Go(work)
	}
	work()
	others.Wait()
	if fault := failed.Load(); fault != nil {
		return study.Blame(r.snap, *fault)
	}
	return nil
}

// mostCopied is how many frames are copied to a list of their length. A list of more is its thread's: a stack overflow's frames
// take some megabytes.
const mostCopied = 1 << 12

// walkThreads unwinds one thread after the other, r.next says which, until ctx ends.
func (u *Unwinder) walkThreads(ctx context.Context, w *stackwalk.Walker, r *round) {
	var frames []unwind.Frame
	for ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= len(r.out) {
			return
		}
		out, t := &r.out[i], &r.snap.Threads[r.first+i]
		limits := r.allowance.Limits(t, len(r.out))
		frames, out.Stop = w.WalkWithin(t, frames[:0], limits)
		r.spent[i] = append(r.spent[i][:0], w.Spent()...)
		out.Frames, out.Repeats, out.Thread = frames, slices.Clone(w.Repeats()), t
		if len(frames) > mostCopied {
			frames = nil
		} else {
			out.Frames = slices.Clone(frames)
		}
		u.splice(r.snap, out)
		u.within(r.snap, out)
		if t.Crashed {
			out.Overwritten = u.overwritten(r.snap, out, limits)
		}
	}
}

// helpers is how many goroutines help with n threads. Of a recording many snapshots are walked side by side.
func helpers(snap *target.Snapshot, n int) int {
	if snap.Sampled {
		return 0
	}
	return min(runtime.GOMAXPROCS(0)-1, n/threadsEach)
}

// splice completes the backtrace by what the capture lists.
func (u *Unwinder) splice(snap *target.Snapshot, b *Backtrace) {
	if len(b.Thread.Listed) == 0 {
		return
	}
	var entries []int
	b.Frames, entries, b.Stop = chain.Splice(snap, &u.opt, b.Thread, b.Frames, b.Stop)
	if u.sizes {
		b.Sizes = stackwalk.FrameSizes(snap, u.opt.Sources, b.Frames)
	}
	b.Listed = make([]*target.Listed, len(entries))
	for i, k := range entries {
		if k >= 0 {
			b.Listed[i] = &b.Thread.Listed[k]
		}
	}
}

// within puts the frames in which the kernel ran for the thread in front of the thread's own.
func (u *Unwinder) within(snap *target.Snapshot, b *Backtrace) {
	if len(b.Thread.Inner) == 0 {
		return
	}
	kernel := Backtrace{Thread: &target.Thread{Listed: b.Thread.Inner}, Stop: unwind.Stop{Reason: unwind.StopNoRule}}
	u.splice(snap, &kernel)
	n := len(kernel.Frames)
	if len(b.Frames) == 0 {
		b.Stop = kernel.Stop
	}
	b.Listed = append(kernel.Listed, b.Listed...)
	b.Frames = append(kernel.Frames, b.Frames...)
	for i := range b.Repeats {
		b.Repeats[i].At += n
		b.Repeats[i].First += n
	}
}
