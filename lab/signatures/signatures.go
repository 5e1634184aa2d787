// Package signatures measures signatures: programs with bugs are built in several ways, each bug crashes on two ways to it, and
// pairs of crashes are asked whether they are the same.
package signatures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/backsight/backsight/internal/grouping"
	"github.com/backsight/backsight/internal/jsonreport"
)

// Build is a way to build a program.
type Build struct {
	Name     string
	Compiler string
	Flags    []string
	Strip    bool
}

// builds are those that are compared: the first with each other one.
var builds = []Build{
	{"gcc-12 -O2", "gcc-12", []string{"-O2", "-g"}, false},
	{"the same, stripped", "gcc-12", []string{"-O2", "-g"}, true},
	{"a change elsewhere", "gcc-12", []string{"-O2", "-DELSEWHERE"}, false},
	{"a change elsewhere, stripped", "gcc-12", []string{"-O2", "-DELSEWHERE"}, true},
	{"no unwind tables, a change elsewhere, stripped", "gcc-12", []string{"-O2", "-DELSEWHERE", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}, true},
	{"gcc-11, stripped", "gcc-11", []string{"-O2"}, true},
	{"-O1, stripped", "gcc-12", []string{"-O1"}, true},
	{"-Os, stripped", "gcc-12", []string{"-Os"}, true},
	{"clang-14 -O2, stripped", "clang-14", []string{"-O2"}, true},
}

// bugs is how many a program has, ways how many ways lead to each.
const bugs, ways = 20, 2

// hung is after what time a program is said to hang.
const hung = 4 * time.Second

// crash is a crash of which it is known by which bug.
type crash struct {
	source     string
	bug, build int
	report     jsonreport.Report
	group      *grouping.Group
}

// Run builds the programs in dir, lets each bug crash, and has backsight name the crashes. core_pattern must be "core".
func Run(ctx context.Context, backsight string, sources []string, dir string) (string, error) {
	var all []crash
	for _, source := range sources {
		for i := range builds {
			list, err := crashes(ctx, backsight, source, dir, i)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", builds[i].Name, err)
				continue
			}
			all = append(all, list...)
		}
	}
	var groups grouping.Groups
	for i := range all {
		if t := all[i].report.Named(); t != nil {
			all[i].group = groups.Add(grouping.Crash{Capture: strconv.Itoa(i), Signature: t.Own.Signature})
		}
	}
	if len(all) == 0 {
		return "", errors.New("no program crashed: is core_pattern \"core\"?")
	}
	return table(all, bugs*len(sources)), nil
}

// crashes are those of one build. What dir has of builds and cores is not made again.
func crashes(ctx context.Context, backsight, source, dir string, build int) (list []crash, err error) {
	b := &builds[build]
	exe, err := b.made(ctx, source, filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(source), build)))
	if err != nil {
		return nil, err
	}
	var cores []string
	for bug := range bugs {
		for way := range ways {
			core, err := crashed(ctx, exe, bug, way)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %s: bug %d: %v\n", filepath.Base(source), b.Name, bug+1, err)
				continue
			}
			cores = append(cores, core)
			list = append(list, crash{source: source, bug: bug, build: build})
		}
	}
	return list, reports(ctx, backsight, cores, list)
}

// made is the program at source, built in dir unless it is there.
func (b *Build) made(ctx context.Context, source, dir string) (exe string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	exe = filepath.Join(dir, "program")
	if _, err = os.Stat(exe); err != nil {
		err = b.build(ctx, source, exe)
	}
	return exe, err
}

// crashed lets a bug crash, and returns the core.
func crashed(ctx context.Context, exe string, bug, way int) (core string, err error) {
	dir := filepath.Dir(exe)
	core = filepath.Join(dir, fmt.Sprintf("bug%d.%d", bug+1, way))
	if _, err := os.Stat(core); err == nil {
		return core, nil
	}
	run, cancel := context.WithTimeout(ctx, hung)
	defer cancel()
	cmd := exec.CommandContext(run, "sh", "-c", `ulimit -c unlimited; exec "$0" "$@"`, exe, strconv.Itoa(bug+1), strconv.Itoa(way))
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGABRT) } // as a watchdog does
	_ = cmd.Run()                                                            // by a signal
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) == 0 {
		return "", errors.New("no core")
	}
	return core, os.Rename(cores[0], core)
}

// reports reads what backsight says of cores into the crashes that they are of.
func reports(ctx context.Context, backsight string, cores []string, list []crash) error {
	if len(cores) == 0 {
		return nil
	}
	var out bytes.Buffer
	bt := exec.CommandContext(ctx, backsight, append([]string{"bt", "-f", "jsonl", "-n", "300"}, cores...)...)
	bt.Stdout = &out
	if err := bt.Run(); err != nil {
		return err
	}
	n := 0
	return jsonreport.Each(ctx, &out, func(r *jsonreport.Report) error {
		if n == len(list) {
			return errors.New("more reports than cores")
		}
		list[n].report = *r
		n++
		return nil
	})
}

// build builds the program at source, which is in C or in C++.
func (b *Build) build(ctx context.Context, source, exe string) error {
	compiler := b.Compiler
	if filepath.Ext(source) != ".c" {
		compiler = strings.NewReplacer("gcc", "g++", "clang", "clang++").Replace(compiler)
	}
	args := append(append([]string{"-w", "-fstack-protector-strong", "-o", exe}, b.Flags...), source, "-lm", "-pthread")
	if out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if b.Strip { // afterwards: the build ID stays
		if out, err := exec.CommandContext(ctx, "strip", exe).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

// rules are ways to say that two crashes are the same; from the top names on those of others (peers.go).
var rules = []struct {
	name string
	key  func(c *crash) string
}{
	{"exact key", func(c *crash) string { return c.signature().Exact }},
	{"stable key", func(c *crash) string { return c.signature().Stable }},
	{"`group`", func(c *crash) string { return fmt.Sprintf("%p", c.group) }},
	{"top 3 names", func(c *crash) string { return names(c, 3) }},
	{"top 5 names", func(c *crash) string { return names(c, 5) }},
	{"module + offset", func(c *crash) string { f := c.frames()[0]; return f.Module + f.ModuleOffset }},
	{"apport", apport},
	{"Socorro", socorro},
}

func (c *crash) signature() *jsonreport.Signature {
	if t := c.report.Named(); t != nil {
		return t.Own.Signature
	}
	return &jsonreport.Signature{}
}

func (c *crash) frames() []jsonreport.Frame {
	if t := c.report.Named(); t != nil && len(t.Frames) > 0 {
		return t.Frames
	}
	return make([]jsonreport.Frame, 1)
}

// names are the names of the innermost frames, as crash collectors compare them that have symbols.
func names(c *crash, n int) string {
	var list []string
	for _, f := range c.frames()[:min(len(c.frames()), n)] {
		list = append(list, f.Function)
	}
	return strings.Join(list, "|")
}

// table says of each rule and each build how sure and how complete the rule is beside the first build.
func table(all []crash, bugs int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d crashes of %d bugs, %d ways to each. F1 (precision, recall) of pairs of a crash of the first build and one of the build that the row names.\n\n|  |", len(all), bugs, ways)
	for _, r := range rules {
		fmt.Fprintf(&b, " %s |", r.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(rules)) + "\n")
	for i := range builds {
		fmt.Fprintf(&b, "| %s |", builds[i].Name)
		for _, r := range rules {
			p, n := pairs(all, i, r.key)
			fmt.Fprintf(&b, " %.2f (%.2f, %.2f) |", f1(p, n), p, n)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// pairs is the precision and the recall of a rule over pairs of a crash of build 0 and another one of a build.
func pairs(all []crash, build int, key func(c *crash) string) (precision, recall float64) {
	var same, said, right float64
	for i := range all {
		for k := range all {
			a, b := &all[i], &all[k]
			if a.build != 0 || b.build != build || i == k {
				continue
			}
			is, says := a.source == b.source && a.bug == b.bug, key(a) != "" && key(a) == key(b)
			same, said, right = same+one(is), said+one(says), right+one(is && says)
		}
	}
	return right / max(said, 1), right / max(same, 1)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func f1(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}
