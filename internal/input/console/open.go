package console

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// open reads all reports of a log. take, unless nil, takes the log's lines out of records.
func open(ctx context.Context, c *input.Capture, env *input.Env, take func([]byte) messages, readers []Reader) (input.Stream, error) {
	data, broken := together(ctx, c)
	if len(data) == 0 && broken != nil {
		return nil, broken
	}
	data = decoded(ctx, data)
	if take != nil {
		data = take(data).inOrder(ctx)
		c.Forget()
	}
	log := newLog(ctx, rejoined(data), signsOf(env, readers), c.Forget)
	var s stream
	if len(env.RAM) > 0 {
		ram, err := env.OpenRAM(ctx)
		if err != nil {
			return nil, err
		}
		log.ram, s.ram = ram, ram
	}
	if err := s.readAll(ctx, log, env, readers); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if len(s.snaps) == 0 {
		return s.memoryAlone(ctx, c, log, env)
	}
	if s.finish(ctx, readers); ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), s.Close())
	}
	if broken != nil {
		last := s.snaps[len(s.snaps)-1]
		last.Issues = append(last.Issues, target.Issue{Kind: target.IssueCapture, Text: broken.Error()})
	}
	return &s, nil
}

// readAll adds all reports of a log.
func (s *stream) readAll(ctx context.Context, log *Log, env *input.Env, readers []Reader) error {
	left := log.MaxReports()
	return eachReport(ctx, log, env, readers, func(r *Report, _ int) (more bool) {
		if left == 0 {
			s.refused = append(s.refused, log.TooMany(r.Line))
			return false
		}
		left--
		s.add(r)
		return true
	})
}

// eachReport visits the reports of a log, with the line behind each. The machine behind a console is of one family: who
// knows the first report, of a processor that is known, reads all others. What a reader of other machines' reports finds
// behind the oops of a kernel, as the registers of the program that ran, is no report.
func eachReport(ctx context.Context, log *Log, env *input.Env, readers []Reader, visit func(r *Report, next int) (more bool)) error {
	scan(log, env, readers)
	if i := slices.IndexFunc(readers, func(r Reader) bool { return r.Owns != nil && r.Owns(log) }); i >= 0 {
		readers = readers[:i+1]
	}
	for at := 0; at < log.Len(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if next := nextOf(log, readers, log.BehindFragments(log.BehindBlank(at))); next > at { // begins no report
			at = next
			continue
		}
		next := at + 1
		for _, reader := range readers {
			r, behind := reader.Read(ctx, log, at, env)
			if r == nil && behind > at+1 {
				next = behind
				break
			}
			if r == nil {
				continue
			}
			if r.Line, next = at, max(behind, at+1); r.Arch != nil && !reader.Beside {
				readers = slices.DeleteFunc(slices.Clone(readers), func(o Reader) bool { return !o.Beside && o.Name != reader.Name })
			}
			if !visit(r, next) {
				return nil
			}
			break
		}
		at = next
	}
	return ctx.Err()
}

// nextOf is the first line from at on at which one of readers may find a report.
func nextOf(log *Log, readers []Reader, at int) int {
	next := log.Telling(at)
	for i := range readers {
		if readers[i].Next != nil && next > at {
			next = readers[i].Next(log, at, next)
		}
	}
	return next
}

// nothing says why there is no snapshot.
func (s *stream) nothing(c *input.Capture, log *Log) error {
	if len(s.refused) > 0 {
		return &input.Error{Path: c.Name, Offset: 0, Reason: s.refused[0].Text}
	}
	if name := unsupportedIn(log); name != "" {
		return &input.Error{Path: c.Name, Offset: 0, Reason: Refusal("a crash report", name)}
	}
	return c.Unrecognised("text without a crash report")
}

// memoryAlone opens the memory beside a log without a report, such as one of an assertion that failed; an issue says so.
func (s *stream) memoryAlone(ctx context.Context, c *input.Capture, log *Log, env *input.Env) (input.Stream, error) {
	why := errors.Join(s.nothing(c, log), s.Close())
	if s.ram == nil {
		return nil, why
	}
	memory, err := env.OpenMemory(ctx)
	if err != nil {
		return nil, errors.Join(why, err)
	}
	return &said{memory, target.Issue{Kind: target.IssueCapture, Text: why.Error()}}, nil
}

// said is a stream whose snapshots have a further issue.
type said struct {
	input.Stream
	issue target.Issue
}

func (s *said) Next(ctx context.Context) (*target.Snapshot, error) {
	snap, err := s.Stream.Next(ctx)
	if err == nil {
		snap.Issues = append(snap.Issues, s.issue)
	}
	return snap, err
}

// stream has a snapshot for each processor that reports are of.
type stream struct {
	snaps []*target.Snapshot
	// tasks are the further threads of each snapshot.
	tasks [][]target.Thread
	// spaces are the programs that snapshots are of, nil: a machine.
	spaces []any
	// refused are the issues of what was not read: reports of processors that are not known,
	// reports that are too many.
	refused []target.Issue
	ram     *input.RAM // nil: none
}

// add makes a report a thread.
func (s *stream) add(r *Report) {
	if r.Arch == nil {
		s.refused = append(s.refused, r.Issues...)
		return
	}
	i := slices.Index(s.spaces, r.Space)
	if r.Space == nil {
		i = slices.IndexFunc(s.snaps, func(snap *target.Snapshot) bool { return snap.Arch == r.Arch && snap.CodeMask == r.CodeMask })
	}
	if i < 0 {
		i = len(s.snaps)
		s.snaps = append(s.snaps, &target.Snapshot{Arch: r.Arch, OS: r.OS, Command: r.Command, PID: r.PID, CodeMask: r.CodeMask, Memory: new(target.Memory)})
		s.tasks, s.spaces = append(s.tasks, nil), append(s.spaces, r.Space)
	}
	snap := s.snaps[i]
	t := r.Thread
	t.ID, t.Name, t.Fault = len(snap.Threads), r.Title, r.Fault
	snap.Threads = append(snap.Threads, t)
	s.tasks[i] = append(s.tasks[i], r.Tasks...)
	if r.Fault != nil && snap.Fault == nil {
		snap.Fault = r.Fault
		snap.Fault.Thread = t.ID
	}
	for _, m := range r.Modules {
		if !slices.ContainsFunc(snap.Modules, func(o *target.Module) bool { return same(o, m) }) {
			snap.Modules = append(snap.Modules, m)
		}
	}
	snap.SortModules()
	for _, h := range r.Hooks {
		if !snap.IsHook(h) {
			snap.Hooks = append(snap.Hooks, h)
		}
	}
	for _, issue := range r.Issues {
		if !slices.Contains(snap.Issues, issue) {
			snap.Issues = append(snap.Issues, issue)
		}
	}
}

// same tells whether two reports are about one binary.
func same(a, b *target.Module) bool {
	return a == b || a.Name == b.Name && a.Range == b.Range && a.Image == b.Image
}

// finish puts the further threads behind the reports.
func (s *stream) finish(ctx context.Context, readers []Reader) {
	for i, snap := range s.snaps {
		for _, t := range s.tasks[i] {
			t.ID = len(snap.Threads)
			snap.Threads = append(snap.Threads, t)
		}
		snap.Issues = append(snap.Issues, s.refused...)
		for _, r := range readers {
			if r.Finish != nil && s.ram != nil {
				r.Finish(ctx, snap, s.ram)
			}
		}
	}
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

func (s *stream) Close() error {
	if s.ram == nil {
		return nil
	}
	return s.ram.Close()
}
