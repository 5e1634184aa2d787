package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/stack"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// job is one snapshot on its way from the capture to the output.
type job struct {
	path  string // of the capture
	title string
	snap  *target.Snapshot
	err   error // reading it failed

	done   chan struct{} // closed when what follows is set
	out    piece
	warn   []target.Issue
	stacks [][]uint32 // to be counted: numbers of their frames, by output.stacks
	// made: there is a backtrace. incomplete: one does not reach its root, or guesses. absent: the snapshot lacks the thread that was
	// asked for.
	made, incomplete, absent bool
}

// batch works through a capture: one goroutine reads, several unwind, and the
// output is written in the order of the input, each snapshot as soon as it and all
// before it are done.
//
//	stream ─► read ─┬─► order ──────────────► write
//	                └─► work ─► worker ─► done ─┘
func (s *session) batch(ctx context.Context, path string, stream input.Stream) error {
	n := runtime.GOMAXPROCS(0)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // where the output fails, nobody reads on
	ahead := n
	if s.isLog() { // a snapshot has hundreds of reports, and takes megabytes
		ahead = 0
	}
	order, work := make(chan *job, ahead), make(chan *job, ahead)
	go s.read(ctx, path, stream, order, work)
	for range n {
		go func() {
			stack.Reserve()
			for j := range work {
				s.process(ctx, j)
				close(j.done)
			}
		}()
	}
	for {
		j, err := s.await(ctx, order)
		if j == nil && err == nil && s.opt.sample.given && !s.made {
			s.progress.warn(displayName(path) + ": no sample is what --since, --comm, --pid and --cpu ask for")
		}
		if j == nil && err == nil && s.absent != nil && !s.made {
			s.absent.absent = false
			err = s.write(ctx, s.absent)
		}
		if j == nil || err != nil {
			return cmp.Or(err, s.out.flush())
		}
		if err := s.write(ctx, j); err != nil {
			return err
		}
	}
}

// await returns the next job when it is done, nil after the last. An interruption
// waits for nothing: the reader may hang in a pipe.
func (s *session) await(ctx context.Context, order <-chan *job) (j *job, err error) {
	if j, err = receive(ctx, order, s.out.flush); err != nil {
		return nil, err
	}
	if j == nil {
		if ctx.Err() != nil { // the reader has stopped early
			return nil, interrupted(ctx)
		}
		return nil, nil
	}
	_, err = receive(ctx, j.done, s.out.flush)
	return j, err
}

// receive is what comes next from a channel. Where that has to be waited for, wait is called before: a recording has a
// hundred thousand reports of a line, which are handed on together.
func receive[T any](ctx context.Context, from <-chan T, wait func() error) (v T, err error) {
	select {
	case v = <-from:
		return v, nil
	default:
	}
	if err := wait(); err != nil {
		return v, err
	}
	select {
	case v = <-from:
		return v, nil
	case <-ctx.Done():
		return v, interrupted(ctx)
	}
}

// read hands out the snapshots of a capture until it ends, or cannot be read on.
func (s *session) read(ctx context.Context, path string, stream input.Stream, order, work chan<- *job) {
	stack.Reserve()
	defer close(order)
	defer close(work)
	for n := 1; ; n++ {
		snap, err := stream.Next(ctx)
		if err == io.EOF || ctx.Err() != nil {
			return
		}
		if s.opt.choice.one && s.isLog() && err == nil && len(snap.Threads) > 0 && snap.Threads[0].ID > 0 {
			continue // further reports of a log
		}
		s.opt.sample.choose(snap)
		j := &job{path: path, title: s.title(path, n), snap: snap, err: err, done: make(chan struct{})}
		for _, c := range []chan<- *job{order, work} {
			select {
			case c <- j:
			case <-ctx.Done():
				return
			}
		}
		var e *input.Error
		if err != nil && !(errors.As(err, &e) && e.Recoverable) {
			return
		}
	}
}

// isLog tells whether the current capture is a log, of which each snapshot has some of the reports.
func (s *session) isLog() bool { return s.format == "console" || s.format == "records" }

// title is the heading of a capture's n-th snapshot, "" where nothing need be told apart: the name
// of one of several captures, and the number of a snapshot behind the first.
func (s *session) title(path string, n int) string {
	switch {
	case s.several && n == 1:
		return displayName(path)
	case s.several:
		return fmt.Sprintf("%s, snapshot %d", displayName(path), n)
	case n > 1:
		return fmt.Sprintf("Snapshot %d", n)
	}
	return ""
}

// process makes a job's output.
func (s *session) process(ctx context.Context, j *job) {
	if s.opt.choice.reports && j.err == nil {
		j.out, j.made = text(listThreads(j.snap)), true
		return
	}
	if s.opt.choice.user != "" && j.err == nil {
		j.title = processTitle(j.snap)
	}
	if s.opt.choice.dmesg && j.err == nil {
		j.out, j.made = text(kernelLog(j.snap)), j.snap.Log != ""
		if !j.made {
			j.warn = []target.Issue{{Text: j.path + ": the capture holds no log of a kernel"}}
		}
		return
	}
	if s.opt.sample.given && j.err == nil && len(j.snap.Threads) == 0 {
		j.warn = j.snap.Issues
		return
	}
	if s.out.stacks != nil {
		s.number(ctx, j)
		return
	}
	r, err := (*report.Report)(nil), j.err
	if err == nil {
		r, err = s.report(ctx, j.snap)
	}
	if err != nil {
		j.absent = errors.As(err, new(*failure))
		r = &report.Report{Issues: []target.Issue{{Text: err.Error()}}}
	}
	for i := range r.Threads {
		j.made = j.made || len(r.Threads[i].Frames) > 0
		j.incomplete = j.incomplete || !r.Threads[i].Whole()
	}
	j.incomplete = j.incomplete || len(r.Threads) == 0
	j.warns(r.Issues)
	style := s.opt.style
	style.Title, style.Capture, style.Legend = j.title, j.path, style.Legend && j.title == ""
	j.out = s.out.piece(r, style)
}

// warns takes the issues of a job's report.
func (j *job) warns(issues []target.Issue) {
	j.warn = issues
	if j.snap != nil && len(j.snap.Modules) == 0 && len(issues) == 0 {
		j.warn = []target.Issue{{Text: displayName(j.path) + ": no binary of the program is known: name it with --exe or --image"}}
	}
}

// missesFile tells whether an issue is that a file is not here which the capture names by its path.
func missesFile(i target.Issue) bool {
	return i.Kind == target.IssueNotFound && strings.HasPrefix(i.Subject, "/")
}

// write writes a job's output.
func (s *session) write(ctx context.Context, j *job) error {
	s.done.Add(1)
	if j.absent {
		s.absent = cmp.Or(s.absent, j)
		return nil
	}
	s.made = s.made || j.made
	s.incomplete = s.incomplete || j.incomplete
	for _, w := range j.warn {
		s.progress.warn(w.Text)
	}
	if s.opt.files.sysroots == nil && slices.ContainsFunc(j.warn, missesFile) {
		s.progress.warn("--sysroot DIR says where a copy of that machine's files is")
	}
	if j.stacks != nil {
		s.out.stacks.Count(j.snap, j.stacks...)
		return nil
	}
	if j.out == nil {
		return nil
	}
	s.progress.clear() // both may be the same terminal
	return s.out.add(j.out)
}
