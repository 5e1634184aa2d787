//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/input/minidump"
	"github.com/backsight/backsight/internal/outfile"
	"github.com/spf13/cobra"
)

// exportOptions are the flags of export.
type exportOptions struct {
	files    fileFlags
	memory   memoryFlags
	minidump bool
	output   string
	write    minidump.WriteOptions
	stackKB  uint64
}

func newExport(stderr io.Writer) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export --minidump -o FILE [flags] CAPTURE",
		Short: "A capture in another form",
		Long: `The first snapshot of a capture as a minidump: the registers, stacks and names of its threads, its
binaries with their build IDs, some bytes of code around each program counter. A core of a gigabyte
becomes some hundred kilobytes, of which Backsight, Breakpad, Crashpad's and Mozilla's tools and LLDB
make backtraces.`,
		Example: `  backsight export --minidump -o crash.dmp --sysroot rootfs core
  backsight export --minidump --sanitize -o crash.dmp core`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], newProgress(stderr))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.minidump, "minidump", false, "write a minidump")
	f.StringVarP(&o.output, "output", "o", "", "the `FILE` to write")
	f.BoolVar(&o.write.Sanitize, "sanitize", false, "of stacks keep only small numbers, addresses of the stack and addresses in binaries")
	f.Uint64Var(&o.stackKB, "max-stack", 1024, "keep so many `KB` of each stack")
	o.files.add(f)
	o.memory.add(f)
	complete(cmd, nil, nil)
	return cmd
}

func (o *exportOptions) run(ctx context.Context, path string, p *progress) error {
	switch {
	case !o.minidump:
		return errors.New("--minidump is the one form that there is: say so")
	case o.output == "":
		return errors.New("give the file to write with -o")
	case sameFile(o.output, path):
		return fmt.Errorf("-o %s is the capture itself", o.output)
	}
	files, err := o.files.open(ctx, p.warn)
	if err != nil {
		return err
	}
	defer files.Close()
	if err := o.memory.check(files.Archs()); err != nil {
		return err
	}
	stream, err := backsight.Open(ctx, path, o.memory.env(files))
	if err != nil {
		return &failure{exitNone, err}
	}
	defer stream.Close()
	snap, err := stream.Next(ctx)
	if err != nil {
		return &failure{exitNone, fmt.Errorf("%s: %w", path, err)}
	}
	for _, issue := range snap.Issues {
		p.warn(issue.Text)
	}
	o.write.MaxStack = o.stackKB << 10
	err = notWritten(o.output, outfile.Write(ctx, o.output, 0o600, func(f *os.File) error { return minidump.Write(f, snap, o.write) }))
	if err != nil && !errors.As(err, new(*failure)) {
		return &failure{exitNone, fmt.Errorf("%s: %w", path, err)}
	}
	return err
}

// sameFile tells whether two paths lead to one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, other)
}
