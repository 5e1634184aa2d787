package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/render"
	"github.com/spf13/cobra"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	files  fileFlags
	call   bool
	lines  int
	format string
	color  string
}

func newExplain(stdout, stderr io.Writer) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain [flags] IMAGE[@ADDR] PC",
		Short: "The unwind rule at one place of a binary",
		Long: `The unwind rule at PC in a binary: which source gave it and why, what the others
say, and the code around: each instruction, its effect on the stack, and the
rule before it. PC is an address (target address where ADDR, the load bias, is
given; bit 0 set in code of a second instruction set), or SYMBOL[+OFFSET].`,
		Example: `  backsight explain firmware.elf 0x80012345
  backsight explain --call busybox main+0x34
  backsight explain libc.so.6@0x7f5ccf53d000 0x7f5ccf5e9df2
  backsight explain --arch mips --endian big fw.bin@0x80000000 0x80001040`,
		Args: imageAndPC,
		RunE: func(cmd *cobra.Command, args []string) error {
			stop := newProgress(stderr).while("analysing " + displayName(args[0]))
			out, err := o.run(cmd.Context(), args[0], args[1], stdout, stderr)
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
	o.files.addDebug(f)
	o.files.raw.add(f)
	f.StringVar(&o.color, "color", "auto", "`WHEN`: auto, always or never; auto honours NO_COLOR")
	complete(cmd, []string{"text", "json"}, nil)
	return cmd
}

func (o *explainOptions) run(ctx context.Context, file, where string, stdout, stderr io.Writer) ([]byte, error) {
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
	name := input.ParseNamedImage(file)
	img, err := files.Open(name.Path)
	if err != nil {
		return nil, &failure{exitNone, fileError(name.Path, err)}
	}
	if err := analysed(name.Path, img); err != nil {
		return nil, err
	}
	var pc uint64
	var mode cpu.Mode
	fault := mapped.Guard(func() { pc, mode, err = place(img, where, name.Bias) })
	if fault != nil {
		return nil, &failure{exitNone, fmt.Errorf("%s: %w", name.Path, fault)}
	}
	if err != nil {
		return nil, err
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, err
	}
	p := u.Explain(ctx, backsight.Question{Image: img, PC: pc, Mode: mode, Call: o.call, Lines: o.lines, Names: backsight.Names(false)})
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	for _, issue := range p.Issues {
		complain(stderr, issue.Text)
	}
	if o.format == "json" {
		return render.AppendPlaceJSON(nil, p, name.Bias, render.Style{Version: version()}), nil
	}
	return render.AppendPlace(nil, p, name.Bias, render.Style{Color: color}), nil
}

// place finds the image address that the argument PC stands for, and the mode of the code there:
// by bit 0 of the address, else by the function that has the address.
func place(img *image.Image, where string, bias uint64) (pc uint64, mode cpu.Mode, err error) {
	name, plus, _ := strings.Cut(where, "+")
	if s, ok := img.Symbols.Named(name); ok {
		n := uint64(0)
		if plus != "" {
			n, err = strconv.ParseUint(plus, 0, 64)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("PC %q: the offset is not a number", where)
		}
		return s.Addr + n, s.Mode, nil
	}
	v, err := strconv.ParseUint(where, 0, 64)
	if err != nil {
		v, err = strconv.ParseUint(where, 16, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("PC %q is neither an address nor a symbol of %s", where, img.Path)
	}
	pc, mode = img.Arch.SplitCode(v - bias)
	if s, ok := img.Symbols.At(pc); ok && mode == 0 {
		mode = s.Mode
	}
	if img.Segments.Code(pc) == nil {
		return 0, 0, &failure{exitNone, fmt.Errorf("%s: no code at %#x", img.Path, v)}
	}
	return pc, mode, nil
}

func imageAndPC(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return errors.New("explain: wants a binary and an address in it")
	}
	return nil
}
