package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/gcore"
	"github.com/backsight/backsight/internal/outfile"
)

// coreOptions are the flags of core.
type coreOptions struct {
	pids   []int
	output string
	from   machineFlags
}

// newCore writes a core of a process.
func newCore(stderr io.Writer) *subcommand {
	var o coreOptions
	cmd := &subcommand{
		Use:   "core -p PID -o FILE",
		Short: "A small core file of a running process",
		Long: `Writes a core with the registers, the stacks and the data of binaries, which bt and
gdb read. The process stands still while its stacks are copied, and goes on.`,
		Example: `  backsight core -p 1234 -o core.1234`,
		Args:    o.from.arguments,
		RunE: func(cmd *subcommand, args []string) error {
			return o.run(cmd.Context(), args, stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&pidValue{&o.pids, true}, "pid", "p", "the process `PID`, or the name of its program")
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`")
	o.from.add(cmd)
	complete(cmd, nil, nil)
	return cmd
}

func (o *coreOptions) run(ctx context.Context, args []string, stderr io.Writer) error {
	if o.from.given() && o.output != "" {
		core, err := o.from.core(ctx, args[0], stderr)
		if err != nil {
			return &failure{exitNone, err}
		}
		return notWritten(o.output, writeCore(ctx, o.output, core))
	}
	if len(o.pids) == 0 && !o.from.given() || o.output == "" {
		return errors.New("core: name a process (-p PID) and a file (-o FILE)" + isCapture("core"))
	}
	core, err := gcore.Of(o.pids[0], gcore.Options{Archs: backsight.CPUs(), Stack: processStack, Others: processStack})
	if err != nil {
		return &failure{exitNone, err}
	}
	if err = writeCore(ctx, o.output, core); err == nil {
		stop := standstill{pid: o.pids[0]}
		stop.add(core)
		complain(stderr, stop.String())
	}
	return err
}

func writeCore(ctx context.Context, path string, core *gcore.Core) error {
	return outfile.Write(ctx, path, 0o600, func(f *os.File) error {
		_, err := io.Copy(f, core.Reader())
		return err
	})
}
