//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/render"
	"github.com/spf13/cobra"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	files  fileFlags
	memory memoryFlags
	thread int
	call   bool
	lines  int
	format string
	color  string
}

func newExplain(stdout, stderr io.Writer) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain [flags] IMAGE[@ADDR] PC | CAPTURE:FRAME",
		Short: "The unwind rule at one place of a binary",
		Long: `The unwind rule at PC in a binary: which source gave it and why, what the others
say, and the code around: each instruction, its effect on the stack, and the
rule before it. PC is an address (target address where ADDR, the load bias, is
given), SYMBOL[+OFFSET] or IMAGE+OFFSET, as 'bt' prints them. Or the place is
frame number FRAME of a capture's crashed thread.`,
		Example: `  backsight explain firmware.elf 0x80012345
  backsight explain --call busybox main+0x34
  backsight explain --sysroot rootfs core.1234:3
  backsight explain libc.so.6@0x7f5ccf53d000 0x7f5ccf5e9df2
  backsight explain --arch mips --endian big fw.bin@0x80000000 0x80001040`,
		Args: imageAndPC,
		RunE: func(cmd *cobra.Command, args []string) error {
			stop := newProgress(stderr).while("analysing " + displayName(args[0]))
			out, err := o.run(cmd.Context(), args, stdout, stderr)
			stop()
			if err != nil {
				return err
			}
			if _, err := stdout.Write(out); err != nil {
				return outputFailed(err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.call, "call", false, "PC is a return address: the rule while the call before it runs")
	f.IntVar(&o.lines, "lines", 32, "`N` instructions to list around PC")
	f.StringVarP(&o.format, "format", "f", "text", "`FORMAT`: text or json")
	f.IntVar(&o.thread, "thread", 0, "FRAME is one of the thread with this `ID`")
	o.files.add(f)
	f.StringVar(&o.color, "color", "auto", "`WHEN`: auto, always or never; auto honours NO_COLOR")
	complete(cmd, []string{"text", "json"}, nil)
	return cmd
}

func (o *explainOptions) run(ctx context.Context, args []string, stdout, stderr io.Writer) ([]byte, error) {
	color, err := colored(o.color, stdout)
	if err != nil {
		return nil, err
	}
	if o.format != "text" && o.format != "json" {
		return nil, fmt.Errorf("--format %q is none of text, json", o.format)
	}
	if o.lines < 0 {
		return nil, fmt.Errorf("--lines %d is negative", o.lines)
	}
	files, err := o.files.open(ctx, func(what string) { complain(stderr, what) })
	if err != nil {
		return nil, err
	}
	defer files.Close()
	find := o.inImage
	if len(args) == 1 {
		find = o.ofFrame
	}
	q, bias, err := find(ctx, files, args)
	if err != nil {
		return nil, err
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, err
	}
	q.Lines, q.Names = o.lines, backsight.Names(false)
	p := u.Explain(ctx, q)
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	for _, issue := range p.Issues {
		complain(stderr, issue.Text)
	}
	if o.format == "json" {
		return render.AppendPlaceJSON(nil, p, bias, render.Style{Version: version()}), nil
	}
	return render.AppendPlace(nil, p, bias, render.Style{Color: color}), nil
}

// inImage is the place IMAGE PC, and the image's load bias.
func (o *explainOptions) inImage(_ context.Context, files *input.Files, args []string) (q backsight.Question, bias uint64, err error) {
	name := input.ParseNamedImage(args[0])
	img, err := files.Open(name.Path)
	if err != nil {
		return q, 0, &failure{exitNone, fileError(name.Path, err)}
	}
	if err := analysed(name.Path, img); err != nil {
		return q, 0, err
	}
	q = backsight.Question{Image: img, Call: o.call}
	fault := mapped.Guard(func() { q.PC, q.Mode, err = place(img, args[1], name.Bias) })
	if fault != nil {
		err = &failure{exitNone, fmt.Errorf("%s: %w", name.Path, fault)}
	}
	return q, name.Bias, err
}

// ofFrame is the place CAPTURE:FRAME, and the load bias of its image.
func (o *explainOptions) ofFrame(ctx context.Context, files *input.Files, args []string) (q backsight.Question, bias uint64, err error) {
	capture, number, _ := cutFrame(args[0])
	w, err := walk(ctx, capture, o.memory.env(files))
	if err != nil {
		return q, 0, &failure{exitNone, err}
	}
	defer w.stream.Close()
	i := slices.IndexFunc(w.traces, func(b backsight.Backtrace) bool {
		return o.thread != 0 && b.Thread.ID == o.thread || o.thread == 0 && b.Thread.Crashed
	})
	switch {
	case o.thread == 0:
		i = max(0, i)
	case i < 0:
		return q, 0, fmt.Errorf("no thread %d; there are %s", o.thread, threadIDs(w.snap))
	}
	if i >= len(w.traces) || number >= w.traces[i].Repeats.Count(len(w.traces[i].Frames)) {
		return q, 0, &failure{exitNone, fmt.Errorf("%s has no frame %d", capture, number)}
	}
	index, _ := w.traces[i].Repeats.Index(number)
	f := &w.traces[i].Frames[index]
	if f.Module == nil || f.Module.Image == nil {
		return q, 0, &failure{exitNone, fmt.Errorf("%s: the binary of frame %d, at %#x, is not known: name it with --exe, --image or --sysroot", capture, number, f.PC)}
	}
	if err := analysed(f.Module.Name, f.Module.Image); err != nil {
		return q, 0, err
	}
	return backsight.Question{Image: f.Module.Image, PC: f.Module.ToImage(f.PC), Mode: f.Mode, Call: !f.Exact}, f.Module.Bias, nil
}

// imageAndPC accepts a binary and a place in it, or CAPTURE:FRAME.
func imageAndPC(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		if _, _, ok := cutFrame(args[0]); ok {
			return nil
		}
	}
	if len(args) != 2 {
		return errors.New("explain: wants a binary and an address in it, or CAPTURE:FRAME")
	}
	return nil
}

// cutFrame takes CAPTURE:FRAME apart.
func cutFrame(arg string) (capture string, frame int, ok bool) {
	i := strings.LastIndexByte(arg, ':')
	if i <= 0 {
		return "", 0, false
	}
	frame, err := strconv.Atoi(strings.TrimPrefix(arg[i+1:], "#"))
	return arg[:i], frame, err == nil && frame >= 0
}
