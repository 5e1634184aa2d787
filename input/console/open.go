package console

import (
	"context"
	"io"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// open reads all reports of a log.
func open(ctx context.Context, c *input.Capture, env *input.Env, readers []Reader) (input.Stream, error) {
	data, broken := c.Bytes(ctx)
	if len(data) == 0 && broken != nil {
		return nil, broken
	}
	log := NewLog(data)
	var s stream
	for at := 0; at < log.Len(); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, next := read(ctx, log, at, env, readers)
		if r != nil {
			r.Line = at
			s.add(r)
		}
		at = max(next, at+1)
	}
	if len(s.snaps) == 0 {
		return nil, &input.Error{Path: c.Name, Offset: 0, Reason: "text without a crash report", Err: input.ErrUnrecognised}
	}
	if broken != nil {
		last := s.snaps[len(s.snaps)-1]
		last.Issues = append(last.Issues, target.Issue{Kind: target.IssueCapture, Text: broken.Error()})
	}
	return &s, nil
}

// read asks the readers in order.
func read(ctx context.Context, log *Log, at int, env *input.Env, readers []Reader) (*Report, int) {
	for _, reader := range readers {
		if r, next := reader.Read(ctx, log, at, env); r != nil {
			return r, next
		}
	}
	return nil, at + 1
}

// stream has a snapshot for each processor that reports are of.
type stream struct{ snaps []*target.Snapshot }

// add makes a report a thread.
func (s *stream) add(r *Report) {
	i := slices.IndexFunc(s.snaps, func(snap *target.Snapshot) bool { return snap.Arch == r.Arch && snap.CodeMask == r.CodeMask })
	if i < 0 {
		i = len(s.snaps)
		s.snaps = append(s.snaps, &target.Snapshot{Arch: r.Arch, OS: r.OS, CodeMask: r.CodeMask, Memory: new(target.Memory)})
	}
	snap := s.snaps[i]
	t := r.Thread
	t.ID, t.Name, t.Fault = len(snap.Threads), r.Title, r.Fault
	snap.Threads = append(snap.Threads, t)
	if r.Fault != nil && snap.Fault == nil {
		snap.Fault = r.Fault
		snap.Fault.Thread = t.ID
	}
	for _, m := range r.Modules {
		if !slices.Contains(snap.Modules, m) {
			snap.Modules = append(snap.Modules, m)
		}
	}
	snap.SortModules()
	snap.Issues = append(snap.Issues, r.Issues...)
}

func (s *stream) Next(ctx context.Context) (*target.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.snaps) == 0 {
		return nil, io.EOF
	}
	snap := s.snaps[0]
	s.snaps = s.snaps[1:]
	return snap, nil
}

func (s *stream) Close() error { return nil }
