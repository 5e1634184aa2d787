// Package remote compares backtraces of programs that stand at a GDB server with those of the snapshots that are
// recorded of them at the same stops.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/gdbremote"
	"github.com/backsight/backsight/lab/record"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/unwind"
)

// Tally is what became of stops.
type Tally struct {
	Stops int
	// Equal backtraces have the same frames. Longer ones have those of the snapshot, whose stack ends at main, and go on.
	// Surer backtraces trust a frame more: a snapshot has the stack alone, a server what pointers lead to, too.
	Equal, Longer, Surer int
	// Frames are those of the programs at the server; Opening and Walking are what went over the wire until
	// there was a snapshot, and for the walks through it.
	Frames           int
	Opening, Walking gdbremote.Traffic
	// First is where the first other backtrace was, "" for none.
	First string
}

// Run records a program, and compares at each sample.
func (t *Tally) Run(ctx context.Context, job record.Job) error {
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return err
	}
	files := backsight.NewFiles(input.FileOptions{Exe: job.ELF})
	defer files.Close()
	env := input.Env{Files: files, Archs: backsight.CPUs(), Formats: backsight.Formats()}
	job.Sampled = func(c *gdbremote.Client, s *truth.Snapshot) error { return t.stop(ctx, u, env, c, s) }
	_, err = record.Run(ctx, job)
	return err
}

// stop compares at one stop.
func (t *Tally) stop(ctx context.Context, u *backsight.Unwinder, env input.Env, c *gdbremote.Client, recorded *truth.Snapshot) error {
	line, err := json.Marshal(recorded)
	if err != nil {
		return err
	}
	s, err := backsight.OpenReader(ctx, "recorded", bytes.NewReader(line), env)
	if err != nil {
		return err
	}
	defer s.Close()
	want, err := first(ctx, u, s)
	if err != nil {
		return err
	}
	before := c.Traffic()
	live, err := c.Stream(ctx, "server", &env, gdbremote.Options{KeepHalted: true}) // not closed: the recording goes on
	if err != nil {
		return err
	}
	opened := c.Traffic()
	got, err := first(ctx, u, live)
	if err != nil {
		return err
	}
	t.add(&t.Opening, before, opened)
	t.add(&t.Walking, opened, c.Traffic())
	t.judge(got, want)
	return nil
}

func (t *Tally) add(sum *gdbremote.Traffic, from, to gdbremote.Traffic) {
	sum.Trips, sum.Bytes = sum.Trips+to.Trips-from.Trips, sum.Bytes+to.Bytes-from.Bytes
}

// judge compares frames.
func (t *Tally) judge(got, want []unwind.Frame) {
	t.Stops++
	t.Frames += len(got)
	for i := range want {
		if i >= len(got) || got[i].PC != want[i].PC || got[i].CFA != want[i].CFA || got[i].Trust < want[i].Trust {
			if t.First == "" {
				t.First = fmt.Sprintf("at %#x: frame %d is %s of %d, in the snapshot %s of %d", want[0].PC, i, shown(got, i), len(got), shown(want, i), len(want))
			}
			return
		}
	}
	switch {
	case len(got) > len(want):
		t.Longer++
	case slices.EqualFunc(got, want, func(a, b unwind.Frame) bool { return a.Trust == b.Trust }):
		t.Equal++
	default:
		t.Surer++
	}
}

// shown is a frame in words.
func shown(frames []unwind.Frame, i int) string {
	if i >= len(frames) {
		return "none"
	}
	f := &frames[i]
	return fmt.Sprintf("%#x (CFA %#x, %v, %v)", f.PC, f.CFA, f.Method, f.Trust)
}

// first are the frames of the thread that stopped.
func first(ctx context.Context, u *backsight.Unwinder, s input.Stream) ([]unwind.Frame, error) {
	snap, err := s.Next(ctx)
	if err != nil {
		return nil, err
	}
	snap.Threads = snap.Threads[:min(1, len(snap.Threads))]
	all, err := u.Backtraces(ctx, snap)
	if err != nil || len(all) == 0 {
		return nil, fmt.Errorf("no backtrace: %w", err)
	}
	return all[0].Frames, nil
}
