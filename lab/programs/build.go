package programs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/record"
	"github.com/backsight/backsight/lab/tracer"
	"github.com/backsight/backsight/lab/truth"
)

// linux are the programs that need an operating system.
var linux = []string{"frames", "flow", "calls", "signals", "odd", "cxx"}

// long are programs of more instructions than can be stepped in GDB's protocol.
var long = []string{"large", "work", "threads", "timer", "throws", "mixed"}

// inCXX are those of them in C++.
var inCXX = map[string]bool{"cxx": true, "throws": true}

// Case is one directory of truth to be made: all programs, one binary each would be
// too many files, so each program is a case of its own.
type Case struct {
	Toolchain *Toolchain
	Variant   Variant
	Program   string
}

// Dir is the case's directory below the root of truth.
func (c *Case) Dir() string {
	return filepath.Join(c.group(), c.Program+"-"+c.Toolchain.Name+"-"+c.Variant.Name)
}

// group is the folder of all cases of the CPU variant.
func (c *Case) group() string {
	if c.Toolchain.Traced {
		return filepath.Join(c.Toolchain.Group, c.Toolchain.Arch)
	}
	return c.Toolchain.Arch
}

// Matrix lists the cases whose directory holds only, and the toolchains that are
// skipped, with the reason.
func Matrix(only string) (cases []Case, skipped []string) {
	all := Toolchains()
	for i := range all {
		t := &all[i]
		if tool := t.Missing(); tool != "" {
			skipped = append(skipped, fmt.Sprintf("%s %s: there is no %s", t.Arch, t.Name, tool))
			continue
		}
		programs := t.Programs
		if programs == nil {
			programs = linux
			if cxx, missing := t.compiler("cxx"); missing {
				skipped = append(skipped, fmt.Sprintf("%s %s in C++: there is no %s", t.Arch, t.Name, cxx))
			}
		}
		for _, v := range t.Variants() {
			for _, p := range programs {
				c := Case{t, v, p}
				if _, missing := t.compiler(p); missing {
					continue
				}
				if strings.Contains(filepath.ToSlash(c.Dir()), only) {
					cases = append(cases, c)
				}
			}
		}
	}
	return cases, skipped
}

// Limits bound a recording.
type Limits struct{ Steps, Keep int }

// Recorder builds and records cases below Root.
type Recorder struct {
	Root   string
	Limits Limits
	plugin string
	// writing: cases of a CPU share its libraries.
	writing sync.Mutex
}

// Result is what became of one case.
type Result struct{ Captures, Steps, Odd int }

// Prepare compiles the tracer's plugin into dir, if a case needs it.
func (r *Recorder) Prepare(ctx context.Context, cases []Case, dir string) (err error) {
	if slices.ContainsFunc(cases, func(c Case) bool { return c.Toolchain.Traced }) {
		r.plugin, err = tracer.Build(ctx, dir)
	}
	return err
}

// Record compiles and records one case.
func (r *Recorder) Record(ctx context.Context, c *Case) (Result, error) {
	work, err := os.MkdirTemp("", "lab")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(work)
	if err := Unpack(work); err != nil {
		return Result{}, err
	}
	full := filepath.Join(work, "full.elf")
	if err := c.compile(ctx, work, full); err != nil {
		return Result{}, err
	}
	record := r.step
	if c.Toolchain.Traced {
		record = r.trace
	}
	result, err := record(ctx, c, full)
	if err == nil && result.Captures == 0 {
		err = errors.New("nothing was captured")
	}
	return result, err
}

// step records a program in GDB's protocol.
func (r *Recorder) step(ctx context.Context, c *Case, full string) (Result, error) {
	rec, err := record.Run(ctx, record.Job{ELF: full, Prog: c.Program, Emulator: c.Toolchain.Emulator, System: c.Toolchain.System,
		Steps: r.Limits.Steps, Keep: r.Limits.Keep})
	if err != nil || rec.Captures() == 0 {
		return Result{}, err
	}
	dir := filepath.Join(r.Root, c.Dir())
	if err := rec.Write(dir); err != nil {
		return Result{}, err
	}
	return Result{rec.Captures(), rec.Steps, rec.Odd}, c.tiers(ctx, full, dir)
}

// Unpack writes the sources into a folder.
func Unpack(dir string) error {
	files, err := fs.Sub(sources, "src")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}

func (c *Case) compile(ctx context.Context, work, out string) error {
	t := c.Toolchain
	compiler, _ := t.compiler(c.Program)
	args := append([]string{"-g"}, t.Flags...)
	args = append(args, c.Variant.Flags...)
	args = append(args, "-o", out, c.source())
	if t.Name != rust {
		args = append(args, "fill.c", "-lm")
	}
	if t.System {
		args = append(args, "start-"+t.Arch+".c")
	}
	return tool(ctx, work, compiler, args...)
}

func (c *Case) source() string {
	switch {
	case c.Toolchain.Name == rust:
		return c.Program + ".rs"
	case inCXX[c.Program]:
		return c.Program + ".cc"
	}
	return c.Program + ".c"
}

// tool runs a program; its complaint is the error.
func tool(ctx context.Context, dir, name string, args ...string) error {
	cmd := child.Command(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w: %s", name, err, first)
	}
	return nil
}

// tiers makes the forms of the binary: symbols and tables, tables only, neither.
func (c *Case) tiers(ctx context.Context, full, dir string) error {
	t := c.Toolchain
	work := filepath.Dir(full)
	sym := filepath.Join(work, "sym.elf")
	stripped := filepath.Join(work, "stripped.elf")
	naked := filepath.Join(work, "naked.elf")
	err := errors.Join(
		tool(ctx, work, t.Strip, "-g", "-o", sym, full),
		tool(ctx, work, t.Strip, "-s", "-o", stripped, full),
	)
	if err != nil {
		return err
	}
	if err := truth.Undress(stripped, naked); err != nil {
		return err
	}
	var errs []error
	for _, tier := range []string{sym, stripped, naked} {
		errs = append(errs, truth.Compress(tier, filepath.Join(dir, filepath.Base(tier)+".gz")))
	}
	return errors.Join(errs...)
}
