package programs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/record"
	"github.com/backsight/backsight/lab/truth"
)

// linux are the programs that need an operating system.
var linux = []string{"frames", "flow", "calls", "signals", "odd", "cxx"}

// inCXX are those of them in C++.
var inCXX = map[string]bool{"cxx": true}

// Case is one directory of truth to be made: all programs, one binary each would be
// too many files, so each program is a case of its own.
type Case struct {
	Toolchain *Toolchain
	Variant   Variant
	Program   string
}

// Dir is the case's directory below the root of truth.
func (c *Case) Dir() string {
	return filepath.Join(c.Toolchain.Arch, c.Program+"-"+c.Toolchain.Name+"-"+c.Variant.Name)
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

// Build compiles and records one case below root.
func Build(ctx context.Context, c *Case, root string, l Limits) (*record.Recording, error) {
	work, err := os.MkdirTemp("", "lab")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := unpack(work); err != nil {
		return nil, err
	}
	full := filepath.Join(work, "full.elf")
	if err := c.compile(ctx, work, full); err != nil {
		return nil, err
	}
	r, err := record.Run(ctx, record.Job{ELF: full, Prog: c.Program, Emulator: c.Toolchain.Emulator, System: c.Toolchain.System,
		Steps: l.Steps, Keep: l.Keep})
	if err != nil {
		return nil, err
	}
	if r.Captures() == 0 {
		return nil, errors.New("nothing was captured")
	}
	dir := filepath.Join(root, c.Dir())
	if err := r.Write(dir); err != nil {
		return nil, err
	}
	return r, c.tiers(ctx, full, dir)
}

// unpack writes the sources.
func unpack(dir string) error {
	files, err := fs.Sub(sources, "src")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}

func (c *Case) compile(ctx context.Context, work, out string) error {
	t := c.Toolchain
	args := append([]string{"-g"}, t.Flags...)
	args = append(args, c.Variant.Flags...)
	args = append(args, "-o", out, c.source(), "fill.c")
	if t.System {
		args = append(args, "start-"+t.Arch+".c")
	}
	compiler, _ := t.compiler(c.Program)
	return tool(ctx, work, compiler, args...)
}

func (c *Case) source() string {
	if inCXX[c.Program] {
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
