package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"github.com/backsight/backsight/internal/study"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/lab/stackmarks"
)

// runStack compares what `backsight usage` says of stacks with GCC's figures and with painted stacks, and writes lab/results/stack.md.
func runStack(args []string) error {
	flags := flag.NewFlagSet("stack", flag.ExitOnError)
	dir := flags.String("dir", "", "keep the programs in `DIR`")
	out := flags.String("o", "lab/results/stack.md", "write to `FILE`")
	_ = flags.Parse(args) // which exits
	if *dir == "" {
		work, err := os.MkdirTemp("", "lab")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		*dir = work
	}
	if err := stackmarks.Unpack(*dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	cases, missing := stackmarks.Cases(*dir)
	for _, tool := range missing {
		fmt.Fprintf(os.Stderr, "skipped: there is no %s\n", tool)
	}
	t := stackTally{figures: map[string]*stackmarks.Tally{}}
	for i := range cases {
		if err := t.add(context.Background(), &cases[i]); err != nil {
			return err
		}
	}
	for _, arg := range flags.Args() {
		row, err := measured(context.Background(), arg)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		t.others = append(t.others, row)
	}
	f, err := os.Create(*out)
	if err != nil {
		return err
	}
	t.write(f)
	return f.Close()
}

// stackTally is what was found.
type stackTally struct {
	order   []string // CPU and level
	figures map[string]*stackmarks.Tally
	differ  []string
	marks   []string // that are more than 10 % below the bound
	painted int
	above   int
	near    int
	others  []string // rows of other people's programs
}

// add builds and measures a program.
func (t *stackTally) add(ctx context.Context, c *stackmarks.Case) error {
	if err := c.Build(ctx); err != nil {
		return err
	}
	img, err := image.Open(c.ELF(), backsight.ImageFormats(), image.Options{Archs: backsight.CPUs(), NoDebugFiles: true})
	if err != nil {
		return err
	}
	defer img.Close()
	notes := c.Annotations
	if c.Painted {
		notes += "\nroot work\n"
	}
	a, err := stackdepth.ReadAnnotations(strings.NewReader(notes))
	if err != nil {
		return err
	}
	r, err := study.StackUsage(ctx, img, a, nil)
	if err != nil {
		return err
	}
	if err := t.compare(ctx, c, img, r); err != nil || !c.Painted {
		return err
	}
	return t.mark(ctx, c, r)
}

// compare counts what GCC says the same of.
func (t *stackTally) compare(ctx context.Context, c *stackmarks.Case, img *image.Image, r *stackdepth.Report) error {
	key := c.CPU.Name + " -" + c.Level
	if t.figures[key] == nil {
		t.figures[key], t.order = &stackmarks.Tally{}, append(t.order, key)
	}
	f, err := os.Open(c.Info())
	if err != nil {
		return err
	}
	defer f.Close()
	list, err := stackmarks.Figures(f)
	if err != nil {
		return err
	}
	listing, err := c.Disassembled(ctx)
	if err != nil {
		return err
	}
	with := stackmarks.NewComparison(c.CPU.Name, img, r, listing)
	with.Add(list)
	t.figures[key].Add(with.Tally)
	for _, d := range with.Differ {
		t.differ = append(t.differ, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", key, c.Program, d.Name, d.GCC, d.Code, cmp.Or(d.Why, "**not explained**")))
	}
	return nil
}

// mark compares the depth with what the program wrote of its stack.
func (t *stackTally) mark(ctx context.Context, c *stackmarks.Case, r *stackdepth.Report) error {
	mark, err := c.Mark(ctx)
	if err != nil {
		return err
	}
	for i := range r.Roots {
		x := &r.Roots[i]
		if x.Name != "work" {
			continue
		}
		t.painted++
		said := fmt.Sprint(x.Depth)
		if x.OpenCount > 0 {
			said = "at least " + said
		}
		switch {
		case mark > x.Depth && x.OpenCount == 0:
			t.above++
			said += " **below the mark**"
		case x.Depth >= mark && x.Depth*10 <= mark*11:
			t.near++
			continue
		}
		t.marks = append(t.marks, fmt.Sprintf("| %s -%s | %s | %d | %s |", c.CPU.Name, c.Level, c.Program, mark, said))
	}
	return nil
}

func (t *stackTally) write(w io.Writer) {
	fmt.Fprint(w, "# Stacks by code, by GCC, and as they were\n\n`go run ./lab stack` writes this.\n\n## GCC's figures\n\n",
		"Of each function that -fcallgraph-info=su lists and the binary has: the bytes of its stack, and which functions it calls.\n\n"+
			"| CPU and level | functions | equal bytes | calls | equal calls | functions equal in both |\n|---|--:|--:|--:|--:|--:|\n")
	var all stackmarks.Tally
	for _, key := range t.order {
		f := t.figures[key]
		all.Add(*f)
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d |\n", key, f.Functions, f.Bytes, f.Calls, f.SameCalls, f.Same)
	}
	fmt.Fprintf(w, "| all | %d | %d (%.2f %%) | %d | %d (%.2f %%) | %d (%.2f %%) |\n\n| CPU and level | program | function | GCC | code | why |\n|---|---|---|---|--:|---|\n",
		all.Functions, all.Bytes, 100*float64(all.Bytes)/float64(max(all.Functions, 1)),
		all.Calls, all.SameCalls, 100*float64(all.SameCalls)/float64(max(all.Calls, 1)),
		all.Same, 100*float64(all.Same)/float64(max(all.Functions, 1)))
	fmt.Fprintln(w, strings.Join(t.differ, "\n"))
	fmt.Fprintf(w, "\n## High-water marks\n\nPrograms on painted stacks, in QEMU: %d, of which %d left a mark above the bound; the bound of %d is within 10 %% of the mark. The others:\n\n"+
		"| CPU and level | program | mark | code |\n|---|---|--:|---|\n%s\n", t.painted, t.above, t.near, strings.Join(t.marks, "\n"))
	if len(t.others) > 0 {
		fmt.Fprintf(w, "\n## Programs of others\n\nGiven as NAME=FILE behind the flags. *Pointers*: calls that the code does not resolve. *Closed*: stacks whose depth is a bound.\n\n"+
			"| program | CPU | functions | calls | pointers | tasks | closed | deepest stack | seconds |\n|---|---|--:|--:|--:|--:|--:|---|--:|\n%s\n", strings.Join(t.others, "\n"))
	}
}
