package main

import (
	"context"
	"iter"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// number walks a job's snapshot and makes numbers of its stacks, to be counted. A recording has a hundred thousand stacks and ten
// thousand places: a place is named when it comes first.
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
		for k := range t.Frames {
			if !byPlace(t, k) {
				j.stacks[i][k] = 0
			}
		}
		guessed := slices.ContainsFunc(t.Frames, func(f unwind.Frame) bool { return f.Trust == unwind.Guess })
		j.made, j.incomplete = j.made || n > 0, j.incomplete || guessed || t.Stop.Reason != unwind.StopRoot
	}
	issues := s.learn(ctx, j, traces)
	for i := range traces {
		j.stacks[i] = unfolded(j.stacks[i], traces[i].Repeats)
	}
	j.warns(append(issues, s.unused(j.snap)...))
}

func eachFrame(traces []backsight.Backtrace) iter.Seq[*unwind.Frame] {
	return func(yield func(*unwind.Frame) bool) {
		for i := range traces {
			for k := range traces[i].Frames {
				if !yield(&traces[i].Frames[k]) {
					return
				}
			}
		}
	}
}

// learn names the frames without a number, whose place came up for the first time or does not tell their name, and numbers them.
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
			*at[0], at = s.out.stacks.Learn(&r.Threads[i].Frames[k], byPlace(&some[i], k)), at[1:]
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

// byPlace tells whether a frame's place tells its name: the capture lists none, and the code is a file's.
func byPlace(t *backsight.Backtrace, k int) bool {
	m, listed := t.Frames[k].Module, k < len(t.Listed) && t.Listed[k] != nil && t.Listed[k].Symbol != ""
	return m != nil && !m.Anonymous() && !listed
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
