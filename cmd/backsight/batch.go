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
	of    *capture
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

// capture is one of the captures, on its way to the output.
type capture struct {
	path   string        // of its first file
	size   int64         // in bytes, where it was opened ahead of its turn
	opened chan struct{} // closed when the next four are set
	stream input.Stream
	format string
	err    error     // it could not be opened
	order  chan *job // its snapshots, as they were read

	made   bool // a backtrace was written
	absent *job // the first that has no thread of the number that was asked for
}

// isLog tells whether a capture is a log, of which each snapshot has some of the reports.
func (c *capture) isLog() bool { return c.format == "console" || c.format == "records" }

// begin opens and reads a capture: one goroutine reads, the workers unwind, and the output is written in the order of the captures,
// each snapshot as soon as it and all before it are done.
//
//	stream ─► read ─┬─► order ─────────────────────► write
//	                └─► jobs ─► worker ─► done ─────┘
func (s *session) begin(ctx context.Context, files []string, size int64, jobs chan<- *job) *capture {
	c := &capture{path: files[0], size: size, opened: make(chan struct{})}
	go func() {
		stack.Reserve()
		if c.stream, c.err = s.open(ctx, files); c.err == nil {
			c.format = input.FormatOf(c.stream)
			ahead := runtime.GOMAXPROCS(0)
			if c.isLog() { // a snapshot has hundreds of reports, and takes megabytes
				ahead = 0
			}
			c.order = make(chan *job, ahead)
		}
		close(c.opened)
		if c.err == nil && !s.opt.choice.list {
			s.read(ctx, c, jobs)
		}
	}()
	return c
}

// work starts the workers, and returns what they take jobs from. They end with ctx.
func (s *session) work(ctx context.Context) chan<- *job {
	jobs := make(chan *job, runtime.GOMAXPROCS(0))
	for range runtime.GOMAXPROCS(0) {
		go func() {
			stack.Reserve()
			for {
				select {
				case j := <-jobs:
					s.process(ctx, j)
					close(j.done)
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return jobs
}

// writeAll writes what the workers make of a capture.
func (s *session) writeAll(ctx context.Context, c *capture) error {
	for {
		j, err := s.await(ctx, c.order)
		if j == nil && err == nil && s.opt.sample.given && !c.made {
			s.progress.warn(displayName(c.path) + ": no sample is what --since, --comm, --pid and --cpu ask for")
		}
		if j == nil && err == nil && c.absent != nil && !c.made {
			c.absent.absent = false
			err = s.write(c.absent)
		}
		if j == nil || err != nil {
			return cmp.Or(err, s.out.flush())
		}
		if err := s.write(j); err != nil {
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
func (s *session) read(ctx context.Context, c *capture, jobs chan<- *job) {
	defer close(c.order)
	for n := 1; ; n++ {
		snap, err := c.stream.Next(ctx)
		if err == io.EOF || ctx.Err() != nil {
			return
		}
		if s.opt.choice.one && c.isLog() && err == nil && len(snap.Threads) > 0 && snap.Threads[0].ID > 0 {
			continue // further reports of a log
		}
		s.opt.sample.choose(snap)
		j := &job{of: c, title: s.title(c.path, n), snap: snap, err: err, done: make(chan struct{})}
		for _, to := range []chan<- *job{c.order, jobs} {
			select {
			case to <- j:
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
			j.warn = []target.Issue{{Text: j.of.path + ": the capture holds no log of a kernel"}}
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
		r, err = s.report(ctx, j.snap, j.of.format)
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
	style.Title, style.Capture, style.Legend = j.title, j.of.path, style.Legend && j.title == ""
	j.out = s.out.piece(r, style)
}

// warns takes the issues of a job's report.
func (j *job) warns(issues []target.Issue) {
	j.warn = issues
	if j.snap != nil && len(j.snap.Modules) == 0 && len(issues) == 0 {
		j.warn = []target.Issue{{Text: displayName(j.of.path) + ": no binary of the program is known: name it with --exe or --image"}}
	}
}

// missesFile tells whether an issue is that a file is not here which the capture names by its path: /bin/sh, C:\Windows\notepad.exe.
func missesFile(i target.Issue) bool {
	name := i.Subject
	return i.Kind == target.IssueNotFound && (strings.HasPrefix(name, "/") || len(name) > 3 && name[1:3] == `:\`)
}

// write writes a job's output.
func (s *session) write(j *job) error {
	s.done.Add(1)
	if j.absent {
		j.of.absent = cmp.Or(j.of.absent, j)
		return nil
	}
	j.of.made = j.of.made || j.made
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
