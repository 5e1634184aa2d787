//go:build !small

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"github.com/backsight/backsight/internal/study"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/outfile"
	"github.com/spf13/cobra"
)

// stackOptions are the flags of usage.
type stackOptions struct {
	files       fileFlags
	annotations []string
	roots       []string
	format      string
	output      string
	diff        string
	top         int
	max         int64
}

func newStackUsage(stdout, stderr io.Writer) *cobra.Command {
	var o stackOptions
	cmd := &cobra.Command{
		Use:   "usage [flags] IMAGE",
		Short: "How deep the stacks of a program can get, from its code",
		Long: `Tells from a binary's code how much stack each function takes, and how deep each
stack can get: the deepest path from the entry point, from each task of a
real-time kernel, each interrupt, each system call of a Linux kernel, with the
bytes of every frame. The binary needs no symbols and no debug information.

What the code does not tell counts 0, and the depth is "at least" that much; a
list says what is open, and the line of annotations that closes each. A file of
annotations has lines such as

  call 0x8000412 -> uart_read, spi_read
  recursion walk 12
  bound memcpy 32
  dynamic parse 256
  priority USART1_IRQHandler 2
  root worker 1024

With --max, it exits 1 where a stack may get deeper or something is open.`,
		Example: `  backsight usage firmware.elf
  backsight usage -a stack.txt --max 2048 firmware.elf
  backsight usage --top 20 firmware.elf
  backsight usage -f json -o usage.json firmware.elf
  backsight usage --diff usage.json firmware.elf
  backsight usage -f html -o usage.html firmware.elf`,
		Args: oneArgument("a binary"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), stdout, newProgress(stderr), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&o.annotations, "annotations", "a", nil, "read what is known of the program from `FILE`; repeatable")
	f.StringArrayVar(&o.roots, "root", nil, "a stack begins with the function `NAME[=SIZE]`; repeatable")
	f.IntVar(&o.top, "top", 0, "list the `N` functions that take most by themselves")
	f.Int64Var(&o.max, "max", 0, "exit 1 where a stack may get deeper than `N` bytes, or nobody can tell")
	f.StringVar(&o.diff, "diff", "", "list the functions that take more than in `OLD`, a binary or the JSON of one")
	f.StringVarP(&o.format, "format", "f", "text", "write text, json or html")
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`")
	o.files.addDebug(f)
	o.files.raw.add(f)
	complete(cmd, []string{"text", "json", "html"}, nil)
	return cmd
}

func (o *stackOptions) run(ctx context.Context, stdout io.Writer, p *progress, path string) error {
	write, ok := map[string]func(io.Writer, *stackResult) error{"text": writeStackText, "json": writeStackJSON, "html": writeStackPage}[o.format]
	switch {
	case !ok:
		return fmt.Errorf("--format: there are text, json and html, not %s", o.format)
	case o.max < 0 || o.top < 0:
		return errors.New("--max and --top want a number that is not negative")
	}
	notes, err := o.notes()
	if err != nil {
		return err
	}
	r, err := o.measure(ctx, p, path, notes)
	if err != nil {
		return err
	}
	for _, name := range r.Unknown {
		p.warn(fmt.Sprintf("annotations: no function is called %s", name))
	}
	if o.diff != "" {
		if r.Old, err = o.old(ctx, p, notes); err != nil {
			return err
		}
	}
	if err := o.written(ctx, stdout, r, write); err != nil {
		return err
	}
	if why := r.exceeds(o.max); o.max > 0 && why != "" {
		p.warn(fmt.Sprintf("%s: %s", path, why))
		return &failure{code: exitIncomplete}
	}
	return nil
}

// stackResult is what is to be written of an image.
type stackResult struct {
	*stackdepth.Report
	Path string
	Top  int
	// Old are the functions of an older build, nil where none was given.
	Old []oldFunction
}

// exceeds names the first stack that may get deeper than so many bytes, "" where none may.
func (r *stackResult) exceeds(most int64) string {
	for i := range r.Roots {
		if x := &r.Roots[i]; x.Depth > most || x.OpenCount > 0 {
			return fmt.Sprintf("the stack of %s %s needs %s%d bytes; --max is %d", x.Kind, short(x.Name), atLeast(x.OpenCount), x.Depth, most)
		}
	}
	if len(r.Roots) == 0 || r.Issue != "" {
		return "not all stacks are known"
	}
	return ""
}

// maxAnnotations bounds the bytes of a file of annotations.
const maxAnnotations = 16 << 20

// notes reads the annotations, and those of --root behind them.
func (o *stackOptions) notes() (*stackdepth.Annotations, error) {
	var text bytes.Buffer
	for _, path := range o.annotations {
		f, err := os.Open(path)
		if err != nil {
			return nil, &failure{exitNone, fileError(path, err)}
		}
		n, err := io.Copy(&text, io.LimitReader(f, maxAnnotations+1))
		f.Close()
		switch {
		case err != nil:
			return nil, &failure{exitNone, fileError(path, err)}
		case n > maxAnnotations:
			return nil, &failure{exitNone, fmt.Errorf("%s: more than %d MB", path, maxAnnotations>>20)}
		}
		if _, err := stackdepth.ReadAnnotations(bytes.NewReader(text.Bytes())); err != nil {
			return nil, &failure{exitNone, fmt.Errorf("%s: %w", path, err)}
		}
		text.WriteByte('\n')
	}
	for _, r := range o.roots {
		name, size, _ := strings.Cut(r, "=")
		fmt.Fprintf(&text, "root %s %s\n", name, size)
	}
	notes, err := stackdepth.ReadAnnotations(&text)
	if err != nil {
		return nil, fmt.Errorf("--root: %w", err)
	}
	return notes, nil
}

// measure analyses a binary.
func (o *stackOptions) measure(ctx context.Context, p *progress, path string, notes *stackdepth.Annotations) (*stackResult, error) {
	img, closed, err := o.files.image(ctx, p.warn, path)
	if err != nil {
		return nil, err
	}
	defer closed()
	stop := p.while(path + ": analysing functions")
	r, err := study.StackUsage(ctx, img, notes, nil)
	stop()
	if err != nil {
		return nil, &failure{exitNone, fmt.Errorf("%s: %w", path, err)}
	}
	if len(r.Functions) == 0 {
		return nil, &failure{exitNone, fmt.Errorf("%s: no functions", path)}
	}
	return &stackResult{Report: r, Path: path, Top: o.top}, nil
}

// written writes the result to standard output or, whole or not at all, to the file of -o.
func (o *stackOptions) written(ctx context.Context, stdout io.Writer, r *stackResult, write func(io.Writer, *stackResult) error) error {
	if o.output == "" {
		if err := write(stdout, r); err != nil {
			return outputFailed(err)
		}
		return nil
	}
	return notWritten(o.output, outfile.Write(ctx, filepath.Clean(o.output), 0o666, func(f *os.File) error { return write(f, r) }))
}

// old are the functions of an older build: of a binary, or of the JSON that was written of one.
func (o *stackOptions) old(ctx context.Context, p *progress, notes *stackdepth.Annotations) ([]oldFunction, error) {
	head, err := firstBytes(o.diff)
	if err != nil {
		return nil, &failure{exitNone, fileError(o.diff, err)}
	}
	if len(head) > 0 && head[0] == '{' {
		list, err := readStackJSON(o.diff)
		if err != nil {
			return nil, &failure{exitNone, fmt.Errorf("%s: %w", o.diff, err)}
		}
		return list, nil
	}
	r, err := o.measure(ctx, p, o.diff, notes)
	if err != nil {
		return nil, err
	}
	list := []oldFunction{}
	for i := range r.Functions {
		f := &r.Functions[i]
		list = append(list, oldFunction{f.Name, f.Own, f.Depth})
	}
	return list, nil
}

// firstBytes are those that tell what a file is.
func firstBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, image.HeadSize)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return bytes.TrimLeft(head[:n], " \r\n\t"), err
}
