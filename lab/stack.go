package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	t := stackTally{figures: map[string]*[2]int{}}
	for i := range cases {
		if err := t.add(context.Background(), &cases[i]); err != nil {
			return err
		}
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
	figures map[string]*[2]int
	differ  []string
	marks   []string
	above   int
	near    int
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
	a, err := backsight.ReadStackAnnotations(strings.NewReader(notes))
	if err != nil {
		return err
	}
	r, err := backsight.StackUsage(ctx, img, a, nil)
	if err != nil {
		return err
	}
	if err := t.compare(c, r); err != nil || !c.Painted {
		return err
	}
	return t.mark(ctx, c, r)
}

// compare counts the functions of which GCC says the same.
func (t *stackTally) compare(c *stackmarks.Case, r *backsight.StackReport) error {
	files, _ := filepath.Glob(filepath.Join(c.Dir, "*.su"))
	key := c.CPU.Name + " -" + c.Level
	if t.figures[key] == nil {
		t.figures[key], t.order = new([2]int), append(t.order, key)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		list, err := stackmarks.Figures(f)
		f.Close()
		if err != nil {
			return err
		}
		n, differ := stackmarks.Compare(list, r, c.CPU.Name)
		t.figures[key][0] += n
		t.figures[key][1] += n - len(differ)
		for _, d := range differ {
			why := d.Why
			if why == "" {
				why = "**not explained**"
			}
			t.differ = append(t.differ, fmt.Sprintf("| %s | %s | %s | %d %s | %d | %s |", key, c.Program, d.Name, d.Bytes, d.Kind, d.Own, why))
		}
	}
	return nil
}

// mark compares the depth with what the program wrote of its stack.
func (t *stackTally) mark(ctx context.Context, c *stackmarks.Case, r *backsight.StackReport) error {
	mark, err := c.Mark(ctx)
	if err != nil {
		return err
	}
	for i := range r.Roots {
		x := &r.Roots[i]
		if x.Name != "work" {
			continue
		}
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
		}
		t.marks = append(t.marks, fmt.Sprintf("| %s -%s | %s | %d | %s |", c.CPU.Name, c.Level, c.Program, mark, said))
	}
	return nil
}

func (t *stackTally) write(w io.Writer) {
	fmt.Fprint(w, "# Stacks by code, by GCC, and as they were\n\n`go run ./lab stack` writes this.\n\n## GCC's figures\n\n",
		"Of each function that -fstack-usage lists and the binary has.\n\n| CPU and level | functions | equal |\n|---|--:|--:|\n")
	all, same := 0, 0
	for _, key := range t.order {
		f := t.figures[key]
		all, same = all+f[0], same+f[1]
		fmt.Fprintf(w, "| %s | %d | %d |\n", key, f[0], f[1])
	}
	fmt.Fprintf(w, "| all | %d | %d (%.2f %%) |\n\n| CPU and level | program | function | GCC | code | why |\n|---|---|---|---|--:|---|\n", all, same, 100*float64(same)/float64(max(all, 1)))
	fmt.Fprintln(w, strings.Join(t.differ, "\n"))
	fmt.Fprintf(w, "\n## High-water marks\n\nPrograms on painted stacks, in QEMU: %d, of which %d left a mark above the bound; the bound of %d is within 10 %% of the mark.\n\n"+
		"| CPU and level | program | mark | code |\n|---|---|--:|---|\n%s\n", len(t.marks), t.above, t.near, strings.Join(t.marks, "\n"))
}
