package stackmarks

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/programs"
)

//go:embed src
var sources embed.FS

// CPU is a processor with its compiler and emulator.
type CPU struct {
	Name     string
	compiler []string
	emulator string
}

// CPUs are five.
func CPUs() []CPU {
	return []CPU{
		{"x86_64", []string{"x86_64-linux-gnu-gcc"}, "qemu-x86_64"},
		{"aarch64", []string{"aarch64-linux-gnu-gcc"}, "qemu-aarch64"},
		{"arm", []string{"arm-linux-gnueabihf-gcc", "-fomit-frame-pointer"}, "qemu-arm"},
		{"mipsel", []string{"mipsel-linux-gnu-gcc"}, "qemu-mipsel"},
		{"riscv64", []string{"riscv64-linux-gnu-gcc"}, "qemu-riscv64"},
	}
}

// Missing is a tool that the machine lacks, "" where there are all.
func (c *CPU) Missing() string {
	for _, tool := range []string{c.compiler[0], c.cxx(), c.emulator} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	return ""
}

// cxx is the compiler for C++.
func (c *CPU) cxx() string { return strings.TrimSuffix(c.compiler[0], "gcc") + "g++" }

// Levels are the levels of optimisation.
func Levels() []string { return []string{"O0", "O2", "Os"} }

// hosted are those of lab/programs and of src/whole: they need a C library.
var hosted = []string{"frames.c", "flow.c", "calls.c", "signals.c", "odd.c", "large.c", "work.c", "threads.c", "timer.c", "mixed.c", "nested.c",
	"cxx.cc", "throws.cc", "shapes.cc", "streams.cc", "machine.c", "json.c", "matrix.c", "driver.c", "tree.c"}

// painted are the programs that run on a painted stack.
var painted = []string{"nested", "factorial", "table", "cases", "masked", "structure", "mutual", "arguments", "large", "callback", "variable", "operations"}

// Case is a program as it was compiled.
type Case struct {
	CPU     CPU
	Level   string
	Program string // the file of its source
	Painted bool
	// Dir has the program and its figures, Annotations is what is known of it, "" for nothing.
	Dir, Annotations string
}

// ELF is the file of the program.
func (c *Case) ELF() string { return filepath.Join(c.Dir, "program") }

// Info is the file in which GCC tells of the program's functions.
func (c *Case) Info() string { return filepath.Join(c.Dir, "program-"+stem(c.Program)+".ci") }

func stem(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) }

// Cases are all programs for all processors that the machine can compile for, below a folder where Unpack has put the sources.
func Cases(dir string) (list []Case, missing []string) {
	for _, cpu := range CPUs() {
		if tool := cpu.Missing(); tool != "" {
			missing = append(missing, tool)
			continue
		}
		for _, level := range Levels() {
			for _, p := range hosted {
				list = append(list, Case{CPU: cpu, Level: level, Program: p, Dir: filepath.Join(dir, cpu.Name+"-"+level+"-"+stem(p))})
			}
			for _, p := range painted {
				c := Case{CPU: cpu, Level: level, Program: p + ".c", Painted: true, Dir: filepath.Join(dir, cpu.Name+"-"+level+"-painted-"+p)}
				notes, _ := sources.ReadFile("src/painted/" + p + ".txt") // few have some
				c.Annotations = string(notes)
				list = append(list, c)
			}
		}
	}
	return list, missing
}

// Unpack writes the sources into a folder.
func Unpack(dir string) error {
	own, err := fs.Sub(sources, "src")
	return errors.Join(err, programs.Unpack(filepath.Join(dir, "programs")), os.CopyFS(dir, own))
}

// Build compiles the program, unless it is there.
func (c *Case) Build(ctx context.Context) error {
	if st, err := os.Stat(c.ELF()); err == nil && st.Size() > 0 {
		return nil
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return err
	}
	compiler := c.CPU.compiler[0]
	args := append([]string{}, c.CPU.compiler[1:]...)
	args = append(args, "-"+c.Level, "-g1", "-fcallgraph-info=su", "-o", "program")
	if c.Painted {
		args = append(args, "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-no-pie", "-fno-pie")
		if c.CPU.Name == "mipsel" {
			args = append(args, "-mno-abicalls", "-G0")
		}
		args = append(args, "../painted/"+c.Program, "../painted/run.c", "-lgcc")
	} else {
		if filepath.Ext(c.Program) == ".cc" {
			compiler = c.CPU.cxx()
		}
		source := "../whole/" + c.Program
		if _, err := os.Stat(filepath.Join(c.Dir, source)); err != nil {
			source = "../programs/" + c.Program
		}
		args = append(args, "-pthread", "-I../programs", source, "../programs/fill.c", "-lm")
	}
	cmd := child.Command(ctx, compiler, args...)
	cmd.Dir = c.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", c.Dir, err, out)
	}
	return nil
}

// Mark runs a painted program: how many bytes of its stack it wrote.
func (c *Case) Mark(ctx context.Context) (int64, error) {
	out, err := child.Command(ctx, c.CPU.emulator, c.ELF()).Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.Dir, err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}
