package backsight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/backsight/backsight/internal/diagnose"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Options say how to unwind. The zero value is the default of everything.
type Options struct {
	// Sources are the ways to find a caller, in the order in which they are asked; nil:
	// DefaultSources.
	Sources []Source
	// MaxFrames bounds a backtrace; 0: unwind.DefaultMaxFrames.
	MaxFrames int
	// Fold leaves turns of long recursion out of the frames (Backtrace.Repeats): a stack overflow has a million frames.
	Fold bool
	// StackSizes: what the capture lists has sizes, too, for report.Thread.StackUsage.
	StackSizes bool
	// TableDir, if set, has unwind tables that Table.Save wrote to Table.Path. Images that
	// have one there are unwound by it, to the same frames in less time.
	TableDir string
	// Warn, if set, is called with the error of each file in TableDir that cannot be used. The
	// table is then compiled anew, and replaces the file.
	Warn func(error)
}

// Unwinder makes backtraces. It is safe for concurrent use. A program makes one Unwinder and
// keeps it: what the Unwinder learns of an image is kept as long as the image is open.
type Unwinder struct {
	sources []Source // as the caller gave them
	opt     stackwalk.Options
	sizes   bool
	// idle are walkers of snapshots, sampling those of profiles.
	idle, sampling walkers
	sampled        atomic.Int64 // samples since the pages of binaries were given back
}

// NewUnwinder returns an Unwinder. The error names a source that finds neither rules nor callers: those of DefaultSources do.
func NewUnwinder(opt Options) (*Unwinder, error) {
	u := &Unwinder{sources: opt.Sources, sizes: opt.StackSizes}
	if u.sources == nil {
		u.sources = DefaultSources()
	}
	u.opt = stackwalk.Options{CallGraph: study.CallGraph(), Shared: new(stackwalk.Shared), MaxFrames: opt.MaxFrames, Fold: opt.Fold}
	for _, s := range u.sources {
		_, rules := s.Source.(stackwalk.RuleSource)
		if _, frames := s.Source.(stackwalk.FrameSource); !rules && !frames {
			return nil, fmt.Errorf("unwind source %q: %T finds neither rules nor callers", s.Name, s.Source)
		}
		u.opt.Sources = append(u.opt.Sources, s.Source)
	}
	u.idle.opt, u.sampling.opt = u.opt, u.opt
	u.sampling.opt.CallGraph, u.sampling.opt.Unchecked, u.sampling.opt.Shared = nil, true, new(stackwalk.Shared)
	if opt.TableDir != "" {
		useTables(u.opt.Sources, opt)
	}
	return u, nil
}

// Forget drops what walks have learned of images that are open. It is of use between the walks of a large recording and what needs the
// memory next; walks that follow learn the same anew.
func (u *Unwinder) Forget() {
	u.idle.forget()
	u.sampling.forget()
}

// Backtrace is one thread's call chain, innermost frame first, and why it ended.
type Backtrace struct {
	Thread *target.Thread
	Frames []unwind.Frame
	// Repeats are turns of recursion that Frames leave out; empty but with Options.Fold.
	Repeats unwind.Repeats
	Stop    unwind.Stop
	// Listed[i] is the entry of Thread.Listed for frame i, nil where the capture does not list
	// that frame; Listed is empty where the capture lists no frames.
	Listed []*target.Listed
	// Sizes are the sizes of frames without a CFA (stackwalk.FrameSizes); empty but with Options.StackSizes, where the
	// capture lists frames.
	Sizes map[int]uint64
	// Tried are the attempts to find each frame, as report.Thread has them; nil but in
	// ExplainedBacktraces, which keeps those of the innermost frames, and the last ones, of the first threads, and of
	// those that crashed.
	Tried [][]report.Attempt
	// Doubt is what other threads' frames, or where the stack lies, say against the
	// backtrace, in a line; "" for nothing. Its frames are trusted accordingly.
	Doubt string
	// Overwritten is the overwritten return address that the crashed thread's chain broke at,
	// nil where none was found.
	Overwritten *report.Overwritten
	// Kernel is how many of Frames, from the innermost on, are those of a machine's kernel, which the program entered.
	Kernel int
}

// Backtraces unwinds every thread of a snapshot, many of them in parallel. It stops
// early, with the backtraces that it has, when ctx ends, or when a file cannot be read
// any more; the Files.Err of the images then tells which. Binaries that are closed meanwhile stay
// readable until it returns; of binaries that were closed before the error is os.ErrClosed.
func (u *Unwinder) Backtraces(ctx context.Context, snap *target.Snapshot) ([]Backtrace, error) {
	release, err := hold(snap)
	if err != nil {
		return nil, err
	}
	defer release()
	kernel, err := kernelSides(ctx, snap, u.Backtraces)
	if err != nil {
		return nil, err
	}
	if kernel != nil {
		snap = u.completed(snap)
	}
	out := make([]Backtrace, len(snap.Threads))
	done, err := u.walk(ctx, snap, out)
	doubt(snap, out[:done])
	enterAll(out[:done], kernel)
	return out[:done], err
}

// ExplainedBacktraces is Backtraces with the attempts to find each frame (Backtrace.Tried). No
// caches are used, so it takes longer.
func (u *Unwinder) ExplainedBacktraces(ctx context.Context, snap *target.Snapshot) ([]Backtrace, error) {
	release, err := hold(snap)
	if err != nil {
		return nil, err
	}
	defer release()
	kernel, err := kernelSides(ctx, snap, u.ExplainedBacktraces)
	if err != nil {
		return nil, err
	}
	if kernel != nil {
		snap = u.completed(snap)
	}
	out := make([]Backtrace, len(snap.Threads))
	var tried attempts
	w, done := u.explaining(snap, tried.keep, 0), 0
	allowance, spent := stackwalk.NewAllowance(snap), make([][]stackwalk.Spent, min(batch, len(out)))
	fault := mapped.Guard(func() {
		for ; done < len(out) && ctx.Err() == nil; done++ {
			of := done % batch
			if of == 0 && done > 0 {
				allowance.ChargeAll(spent)
			}
			b := &out[done]
			b.Thread, tried.list = &snap.Threads[done], tried.list[:0]
			limits := allowance.Limits(b.Thread, min(batch, len(out)-done+of))
			b.Frames, b.Stop = w.WalkWithin(b.Thread, nil, limits)
			spent[of] = append(spent[of][:0], w.Spent()...)
			b.Repeats = slices.Clone(w.Repeats())
			u.splice(snap, b)
			b.Tried = tried.of(b)
			u.within(snap, b)
			if b.Tried != nil {
				b.Tried = slices.Insert(b.Tried, 0, make([][]report.Attempt, len(b.Frames)+1-len(b.Tried))...)
			}
			if b.Thread.Crashed {
				b.Overwritten = u.overwritten(snap, b, limits)
			}
		}
	})
	doubt(snap, out[:done])
	enterAll(out[:done], kernel)
	return out[:done], cmp.Or(study.Blame(snap, fault), ctx.Err())
}

const (
	// maxExplained bounds the frames of a thread whose attempts are kept. Nobody reads how the thousandth call of a recursion
	// was found.
	maxExplained = 4096
	// mostKept bounds the attempts that are kept, of all threads together; those that crashed have theirs nevertheless.
	mostKept = 1 << 16
)

// attempts are those of the first frames of a walk, and of the last one.
type attempts struct {
	list []report.Attempt
	kept int // of the walks before
}

func (t *attempts) keep(a unwind.Attempt) {
	for n := len(t.list); n > 0 && t.list[n-1].Frame >= maxExplained && t.list[n-1].Frame != a.Frame; n-- {
		t.list = t.list[:n-1]
	}
	t.list = append(t.list, report.Keep(a))
}

// of sorts the attempts to find each frame of a backtrace, and one more; nil where those of others are enough.
func (t *attempts) of(b *Backtrace) [][]report.Attempt {
	if t.kept += len(t.list); t.kept > mostKept && !b.Thread.Crashed {
		return nil
	}
	tried := make([][]report.Attempt, len(b.Frames)+1)
	for _, a := range t.list {
		if k, left := b.Repeats.Index(a.Frame + 1); left == 0 && k < len(tried) {
			tried[k] = append(tried[k], a)
		}
	}
	return tried
}

// explaining is a walker that tells keep of each of its attempts.
func (u *Unwinder) explaining(snap *target.Snapshot, keep func(unwind.Attempt), maxFrames int) *stackwalk.Walker {
	opt := u.WalkerOptions()
	opt.Explain = keep
	if maxFrames > 0 {
		opt.MaxFrames = maxFrames
	}
	return stackwalk.NewWalker(snap, opt)
}

// overwritten looks for an overwritten return address where the chain of b broke. The walk up to
// there is repeated, to learn what was tried; nil where there is no such address.
func (u *Unwinder) overwritten(snap *target.Snapshot, b *Backtrace, limits stackwalk.Limits) *report.Overwritten {
	n, ok := diagnose.Damaged(b.Frames, b.Stop)
	if !ok {
		return nil
	}
	number := b.Repeats.Number(n)
	var tried []report.Attempt
	u.explaining(snap, func(a unwind.Attempt) {
		if a.Frame == number {
			tried = append(tried, report.Keep(a))
		}
	}, number+2).WalkWithin(b.Thread, nil, limits)
	return diagnose.FindOverwritten(snap, b.Thread, b.Frames[n], number, tried)
}

// Walker returns a walker over snap, for one goroutine. A profiler keeps one for each
// goroutine and gives it all samples: those that are registers and stack bytes with
// Walker.WalkSample, for which snap needs no threads and no memory but Arch, Modules and
// CodeMask; those that are snapshots with Walker.Use and Walker.Walk.
func (u *Unwinder) Walker(snap *target.Snapshot) unwind.Walker {
	return stackwalk.NewWalker(snap, u.opt)
}

// WalkerOptions are the options of the walkers that u makes, for what is told more: stackwalk.Options.Registers and
// stackwalk.Options.Explain.
func (u *Unwinder) WalkerOptions() stackwalk.Options {
	opt := u.opt
	opt.Sources = slices.Clone(opt.Sources)
	return opt
}
