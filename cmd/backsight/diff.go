//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/backsight/backsight/internal/comparing"
	"github.com/backsight/backsight/internal/display"
	"github.com/spf13/cobra"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	bt     btOptions
	format string
	color  string
	pair   bool // A and B are binaries
	at     []string
	report string
}

func newDiff(stdout, stderr io.Writer) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Two crashes side by side",
		Long: `Compares two captures, or reports that 'bt -f json' has written: which threads
are the same, which frames stand at the same place, at another place of the same
function, or in one of the two only; what the crash, the binaries' builds and the
registers are. Functions without names are compared by what they refer to.

With --binaries, A and B are two builds of a program: which functions are the
same, by names or by what code refers to, and where places of an old report are
in the new build. What is not matched is said.`,
		Example: `  backsight diff core.monday core.tuesday
  backsight diff -f html earlier.json core > diff.html
  backsight diff --binaries old/netd new/netd
  backsight diff --binaries --at 0x401136,0x4021f0 old/netd new/netd
  backsight diff --binaries --report old.json old/netd new/netd`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("diff: wants two captures or reports, not %d", len(args))
			}
			return named("diff", args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, stdout, stderr) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.format, "format", "f", "text", "`FORMAT`: text or html (a page)")
	f.StringVar(&o.color, "color", "auto", "`WHEN`: auto, always or never; auto honours NO_COLOR")
	f.BoolVar(&o.pair, "binaries", false, "A and B are two builds of a program: which functions are the same")
	f.Var(listValue{&o.at}, "at", "with --binaries: where these offsets of the old build are in the new one (`LIST`)")
	f.StringVar(&o.report, "report", "", "with --binaries: where the frames of a capture or report are in the new build (`FILE`)")
	o.bt.files.add(f)
	o.bt.names.add(f)
	complete(cmd, []string{"text", "html"}, nil)
	return cmd
}

func (o *diffOptions) run(cmd *cobra.Command, args []string, stdout, stderr io.Writer) error {
	if o.format != "text" && o.format != "html" {
		return fmt.Errorf("--format %q is none of text, html", o.format)
	}
	color, err := colored(o.color, stdout)
	if err != nil {
		return err
	}
	o.bt.goroutines, o.bt.color, o.bt.style.Registers = true, "never", true
	if o.pair {
		return o.binaries(cmd.Context(), args, stdout, newProgress(stderr))
	}
	if o.at != nil || o.report != "" {
		return errors.New("--at and --report go with --binaries")
	}
	return o.compare(cmd.Context(), args, stdout, newProgress(stderr), color)
}

// compare lays two captures side by side.
func (o *diffOptions) compare(ctx context.Context, args []string, stdout io.Writer, p *progress, color bool) error {
	r := rereader{opt: &o.bt, progress: p}
	a, err := r.all(ctx, args[0])
	if err != nil {
		return err
	}
	b, err := r.all(ctx, args[1])
	if err != nil {
		return err
	}
	c := comparing.Compare(&a[0], &b[0])
	if o.format == "html" {
		_, err = stdout.Write(display.AppendComparisonPage(nil, c))
	} else {
		_, err = stdout.Write(display.AppendComparison(nil, c, color))
	}
	if err != nil {
		return outputFailed(err)
	}
	return nil
}
