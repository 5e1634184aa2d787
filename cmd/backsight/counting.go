package main

import (
	"context"
	"iter"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// number walks a job's snapshot and makes numbers of its stacks, to be counted.
func (s *session) number(ctx context.Context, j *job) {
	var traces []backsight.Backtrace
	err := j.err
	if err == nil {
		traces, err = s.lib.Backtraces(ctx, j.snap)
	}
	if err != nil {
		j.warn, j.incomplete = []target.Issue{{Text: err.Error()}}, true
		return
	}
	j.stacks, j.incomplete = make([][]uint32, len(traces)), len(traces) == 0
	frames := 0
	for i := range traces {
		frames += len(traces[i].Frames)
	}
	numbers := s.out.stacks.Find(make([]uint32, 0, frames), eachFrame(traces))
	for i := range traces {
		t, n := &traces[i], len(traces[i].Frames)
		j.stacks[i], numbers = numbers[:n:n], numbers[n:]
		guessed := slices.ContainsFunc(t.Frames, func(f unwind.Frame) bool { return f.Trust == unwind.Guess })
		j.made, j.incomplete = j.made || n > 0, j.incomplete || guessed || t.Stop.Reason != unwind.StopRoot
	}
	issues := s.learn(ctx, j, traces)
	if !s.namedLater(j.snap) {
		if err := s.out.stacks.Name(ctx, s.names); err != nil {
			issues = append(issues, target.Issue{Text: "names: " + err.Error()})
		}
	}
	for i := range traces {
		j.stacks[i] = unfolded(j.stacks[i], traces[i].Repeats)
	}
	j.warns(append(issues, s.unused(j.snap)...))
}

// eachFrame are the frames of backtraces, and whether the capture lists their names.
func eachFrame(traces []backsight.Backtrace) iter.Seq2[*unwind.Frame, bool] {
	return func(yield func(*unwind.Frame, bool) bool) {
		for i := range traces {
			for k := range traces[i].Frames {
				if !yield(&traces[i].Frames[k], nameListed(&traces[i], k)) {
					return
				}
			}
		}
	}
}

// namedLater tells whether the places in a snapshot are named when all have come: debug information is read in one direction, and a
// recording has ten thousand places. Of what runs, or is in memory alone, names may not be there any more.
func (s *session) namedLater(snap *target.Snapshot) bool { return snap.Sampled && s.reader == nil }

// learn names the frames without a number, whose place has no binary or does not tell their name, and numbers them.
func (s *session) learn(ctx context.Context, j *job, traces []backsight.Backtrace) []target.Issue {
	var some []backsight.Backtrace
	var at []*uint32
	for i := range traces {
		t, first := &traces[i], len(at)
		for k := range t.Frames {
			if j.stacks[i][k] == 0 {
				at = append(at, &j.stacks[i][k])
			}
		}
		if first < len(at) || t.Doubt != "" {
			some = append(some, nameless(t, j.stacks[i], len(at)-first))
		}
	}
	r := s.lib.Named(ctx, j.snap, some)
	for i := range r.Threads {
		for k := range r.Threads[i].Frames {
			*at[0], at = s.out.stacks.Learn(&r.Threads[i].Frames[k], nameListed(&some[i], k)), at[1:]
		}
	}
	return r.Issues
}

// nameless is a backtrace with the n of t's frames alone that have no number.
func nameless(t *backsight.Backtrace, numbers []uint32, n int) backsight.Backtrace {
	b := backsight.Backtrace{Thread: t.Thread, Stop: t.Stop, Doubt: t.Doubt, Frames: make([]unwind.Frame, 0, n)}
	for k := range t.Frames {
		if numbers[k] != 0 {
			continue
		}
		if b.Frames = append(b.Frames, t.Frames[k]); k < len(t.Listed) {
			b.Listed = append(b.Listed, t.Listed[k])
		}
	}
	return b
}

// nameListed tells whether the capture lists the name of a frame.
func nameListed(t *backsight.Backtrace, k int) bool {
	return k < len(t.Listed) && t.Listed[k] != nil && t.Listed[k].Symbol != ""
}

// unfolded are the numbers of a list of frames with those that the list leaves out.
func unfolded(listed []uint32, r unwind.Repeats) []uint32 {
	if len(r) == 0 {
		return listed
	}
	all := make([]uint32, r.Count(len(listed)))
	for n := range all {
		i, _ := r.Index(n)
		all[n] = listed[i]
	}
	return all
}
