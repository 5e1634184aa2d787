package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// nothing says why there is no snapshot.
func (s *stream) nothing() error {
	err := s.capture.Unrecognised("text without a crash report")
	switch {
	case len(s.refused) > 0:
		err = &input.Error{Path: s.capture.Name, Offset: 0, Reason: s.refused[0].Text}
	case s.foreign != "":
		err = &input.Error{Path: s.capture.Name, Offset: 0, Reason: Refusal("a crash report", s.foreign)}
	}
	if s.portions.broken != nil { // what was looked for may have stood in the rest
		err = fmt.Errorf("%w; the capture ends at %#x: %w", err, s.portions.seen(), s.portions.broken)
	}
	return err
}

// memoryAlone opens the memory beside a log without a report, such as one of an assertion that failed; an issue says so.
func (s *stream) memoryAlone(ctx context.Context) (input.Stream, error) {
	why := errors.Join(s.nothing(), s.Close())
	if s.ram == nil {
		return nil, why
	}
	memory, err := s.env.OpenMemory(ctx)
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

// stream has a snapshot for each processor that reports are of. Of a log that is larger than wholeLog, there are further ones: each
// has the reports of so much of the log as is looked at together.
type stream struct {
	*portions
	capture *input.Capture
	snaps   []*target.Snapshot
	// tasks are the further threads of each snapshot.
	tasks [][]target.Thread
	// spaces are the programs that snapshots are of, nil: a machine.
	spaces []any
	// refused are the issues of what was not read: reports of processors that are not known,
	// reports that are too many.
	refused []target.Issue
	// machines count the threads of the snapshots that are no programs', so that their numbers go on.
	machines []machine
	bytes    int        // of text that the reports of snaps have
	foreign  string     // the processor of a log without a report, where that is not supported
	broken   error      // why the log ends early
	ram      *input.RAM // nil: none
}

// machine is what the reports of one machine have in common, and how many threads earlier snapshots of that have.
type machine struct {
	arch *cpu.Arch
	mask uint64
	had  int
}

// enough is how much text the reports of a snapshot have before it is given, although more of the log may follow.
const enough = portion / 2

// gather reads portions until there is a snapshot to give, or the log ends.
func (s *stream) gather(ctx context.Context) error {
	for !s.done && (s.bytes < enough || len(s.snaps) == 0) {
		if err := s.next(ctx, s); err != nil {
			return err
		}
	}
	if s.done && s.portions.broken != nil {
		s.broken = &input.Error{Path: s.capture.Name, Offset: int64(s.seen()), Reason: "ends here", Err: s.portions.broken}
	}
	if s.finish(ctx); s.done && s.broken != nil && len(s.snaps) > 0 {
		last := s.snaps[len(s.snaps)-1]
		last.Issues = append(last.Issues, target.Issue{Kind: target.IssueCapture, Text: s.broken.Error()})
	}
	return ctx.Err()
}

// had is how many threads a machine had in the snapshots before.
func (s *stream) had(snap *target.Snapshot) *int {
	i := slices.IndexFunc(s.machines, func(m machine) bool { return m.arch == snap.Arch && m.mask == snap.CodeMask })
	if i < 0 {
		i, s.machines = len(s.machines), append(s.machines, machine{snap.Arch, snap.CodeMask, 0})
	}
	return &s.machines[i].had
}

// add makes a report a thread.
func (s *stream) add(r *Report) {
	if r.Arch == nil {
		if len(s.refused) < reportsFloor {
			s.refused = append(s.refused, r.Issues...)
		}
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
	t.ID, t.Name, t.Fault = s.number(i), r.Title, r.Fault
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

// number is that of the next thread of the i-th snapshot.
func (s *stream) number(i int) int {
	n := len(s.snaps[i].Threads)
	if s.spaces[i] == nil {
		n += *s.had(s.snaps[i])
	}
	return n
}

// finish puts the further threads behind the reports of all snapshots.
func (s *stream) finish(ctx context.Context) {
	for i, snap := range s.snaps {
		for _, t := range s.tasks[i] {
			t.ID = s.number(i)
			snap.Threads = append(snap.Threads, t)
		}
		if s.spaces[i] == nil {
			*s.had(snap) = s.number(i)
		}
		snap.Issues = append(snap.Issues, s.refused...)
		for _, r := range s.readers {
			if r.Finish != nil && s.ram != nil {
				r.Finish(ctx, snap, s.ram)
			}
		}
	}
	s.tasks, s.spaces, s.bytes = nil, nil, 0
	if len(s.snaps) > 0 {
		s.refused = nil
	}
}

func (s *stream) Next(ctx context.Context) (*target.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.snaps) == 0 && !s.done {
		if err := s.gather(ctx); err != nil {
			return nil, err
		}
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
