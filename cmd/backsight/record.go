//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/outfile"
	"github.com/backsight/backsight/internal/perfevent"
	"github.com/spf13/cobra"
)

// recordOptions are the flags of record.
type recordOptions struct {
	bt       btOptions // where binaries are, which names frames have, the format
	pids     []int
	sample   perfevent.Options
	duration time.Duration
	output   string
}

// formatData is the recording itself; recordFormats are the values of --format.
const formatData = "data"

var recordFormats = []string{"flame", "folded", "pprof", "perf", "jsonl", formatData}

func newRecord(stdout, stderr io.Writer) *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use:   "record [flags] -p PID | -- COMMAND [ARGUMENT]...",
		Short: "A profile of a running program",
		Long: `Takes samples of a program while it runs, and of those that it starts: registers
and a copy of the stack, unwound at once. On Linux; the kernel must allow it.
Ends with the program; after --duration, or when interrupted, the program
goes on.`,
		Example: `  backsight record -f flame -o profile.html -- make
  backsight record -p 1234 --duration 10s -f pprof -o profile.pb.gz
  backsight record -f data -o perf.data -- ./program`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.output == "-" { // as perf record has it
				o.output = ""
			}
			if (len(o.pids) == 0) == (len(args) == 0) {
				return errors.New("record: name a process (-p PID) or a command (-- COMMAND)")
			}
			return o.run(cmd.Context(), args, stdout, stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&pidValue{&o.pids, true}, "pid", "p", "the process `PID`, or the name of its program, with all of its threads")
	f.IntVarP(&o.sample.Frequency, "frequency", "F", 99, "`N` samples in a second of running time")
	f.IntVar(&o.sample.Stack, "stack", 16<<10, "copy `BYTES` of the stack with each sample")
	f.BoolVar(&o.sample.Kernel, "kernel", false, "samples in the kernel, too")
	f.DurationVar(&o.duration, "duration", 0, "end after `TIME`: 10s, 1m")
	f.StringVarP(&o.bt.format, "format", "f", "folded", "`FORMAT`: "+strings.Join(recordFormats, ", ")+" (data: a recording as perf record makes it)")
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`, not to standard output")
	o.bt.files.add(f)
	o.bt.names.add(f)
	complete(cmd, recordFormats, nil)
	return cmd
}

func (o *recordOptions) run(ctx context.Context, command []string, stdout, stderr io.Writer) error {
	if !slices.Contains(recordFormats, o.bt.format) {
		return fmt.Errorf("--format %q is none of %s", o.bt.format, strings.Join(recordFormats, ", "))
	}
	if s := o.sample.Stack; s < 8 || s > perfevent.MaxStack || s%8 != 0 || o.sample.Frequency < 1 {
		return fmt.Errorf("--stack wants a multiple of 8 up to %d, --frequency a number above 0", perfevent.MaxStack)
	}
	live := processes{pids: o.pids} // in a container, or replaced by an update
	live.use(&o.bt.files)
	start := func() (*perfevent.Recorder, error) { return o.start(command, stdout, stderr) }
	if o.output == "" {
		return o.write(ctx, start, stdout, stderr)
	}
	err := outfile.Write(context.WithoutCancel(ctx), o.output, 0o666, func(f *os.File) error { return o.write(ctx, start, f, stderr) })
	if f := new(failure); err != nil && !errors.As(err, &f) {
		return &failure{exitNone, err}
	}
	return err
}

// start begins to record the process or the command, whose output goes to standard error where the profile goes to standard output.
func (o *recordOptions) start(command []string, stdout, stderr io.Writer) (*perfevent.Recorder, error) {
	if len(o.pids) > 0 {
		r, err := perfevent.Attach(o.pids[0], o.sample)
		return r, notRecorded(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	if o.output == "" {
		cmd.Stdout = stderr
	}
	r, err := perfevent.Start(cmd, o.sample)
	return r, notRecorded(err)
}

func notRecorded(err error) error {
	if err == nil {
		return nil
	}
	return &failure{exitNone, fmt.Errorf("record: %w", err)}
}

// write writes the profile, unwound while it is recorded. What was recorded before an interruption is a profile. Nothing is started
// before all else is at hand.
func (o *recordOptions) write(ctx context.Context, start func() (*perfevent.Recorder, error), w, stderr io.Writer) error {
	o.bt.color = "never"
	s := &session{opt: &o.bt, out: output{w: w}, progress: newProgress(stderr)}
	all, name := context.WithoutCancel(ctx), []string{"the recording"}
	if o.bt.format != formatData {
		if err := s.prepare(all, name); err != nil {
			return err
		}
	} else if isTerminal(w) {
		return errors.New("--format data writes bytes that a terminal cannot show: redirect it")
	}
	r, err := start()
	if err != nil {
		return err
	}
	defer r.Close()
	recording, stop := ctx, context.CancelFunc(func() {})
	if o.duration > 0 {
		recording, stop = context.WithTimeout(ctx, o.duration)
	}
	defer stop()
	if o.bt.format != formatData {
		err = o.unwind(all, recording, r, s, name)
	} else {
		err = outputFailed(r.Copy(recording, w))
	}
	if how := r.Ended(); how != nil && ctx.Err() == nil {
		s.progress.warn(fmt.Sprintf("the command: %v", how))
	}
	return err
}

// unwind unwinds what is recorded until the recording's context ends.
func (o *recordOptions) unwind(ctx, recording context.Context, r *perfevent.Recorder, s *session, name []string) error {
	in, out := io.Pipe()
	copied := make(chan error, 1)
	go func() {
		err := r.Copy(recording, out)
		copied <- errors.Join(err, out.Close())
	}()
	s.reader = in
	err := s.all(ctx, name)
	_ = in.Close() // never fails
	if more := <-copied; !errors.Is(more, io.ErrClosedPipe) {
		err = errors.Join(err, more)
	}
	return err
}
