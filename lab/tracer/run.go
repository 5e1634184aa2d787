package tracer

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/backsight/backsight/lab/child"
)

// Job is a program to run.
type Job struct {
	// Plugin is what Build made.
	Plugin string
	// Emulator is QEMU's user mode for the program's CPU, with its arguments.
	Emulator []string
	// Root is the folder where the program's absolute paths are looked for first.
	Root string
	// Program is the executable's path on this machine; Args begin behind its name.
	Program string
	Args    []string
	// Main is main's address in the executable; 0: not known, the tracer looks for it.
	Main uint64
	// Dir is where it runs.
	Dir string
	// Limit bounds the instructions executed since main was called, Keep the captures.
	Limit, Keep int
}

// Run runs a program twice: the first run counts its instructions, so that the second
// can spread the captures over all of them.
func Run(ctx context.Context, job *Job) (*Trace, error) {
	start, entry, err := addresses(job.Program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", job.Program, err)
	}
	dir, err := os.MkdirTemp("", "tracer")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := runner{job: job, entry: entry - start, out: filepath.Join(dir, "trace"), switches: switchers(job.Program, start)}
	r.whole = r.switches != ""
	if job.Main != 0 {
		r.main = job.Main - start
	}
	count, err := r.run(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if count.Steps == 0 && !r.whole { // no C library calls main: Free Pascal
		r.whole = true
		if count, err = r.run(ctx, 0, 1); err != nil {
			return nil, err
		}
	}
	if count.Steps == 0 {
		return nil, errors.New("neither main nor the entry was reached")
	}
	return r.run(ctx, job.Keep, count.Steps)
}

type runner struct {
	job *Job
	// entry and main are how far behind the lowest executable segment they lie: that
	// segment's address is what QEMU tells a plugin, the entry it tells is the dynamic
	// linker's.
	entry, main uint64
	out         string
	// whole: all activations since the program's entry count, as in Go, where no C library calls main.
	whole bool
	// switches are arguments of the plugin: the functions that change stacks.
	switches string
}

// run is one run. The environment, the random numbers of the emulator and with these
// the addresses are the same in each. Go does without the signals that preempt goroutines: they come when the host's clock
// says so, and the plugin loses count of the calls behind them.
func (r *runner) run(ctx context.Context, keep, total int) (*Trace, error) {
	j := r.job
	plugin := fmt.Sprintf("file=%s,out=%s,keep=%d,total=%d,limit=%d,entry=%d,main=%d%s", j.Plugin, r.out, keep, total, j.Limit, r.entry, r.main, r.switches)
	if r.whole {
		plugin += ",whole=1"
	}
	args := append(slices.Clone(j.Emulator[1:]), "-singlestep", "-seed", "1", "-L", j.Root, "-plugin", plugin, j.Program)
	cmd := child.Command(ctx, j.Emulator[0], append(args, j.Args...)...)
	cmd.Dir = j.Dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "GODEBUG=asyncpreemptoff=1"}
	failed := run(cmd) // programs that are stopped or complain have a trace, too
	t, err := readFile(r.out)
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	return t, nil
}

// addresses are those of a program's lowest executable segment and of its entry.
func addresses(path string) (start, entry uint64, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	start = math.MaxUint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			start = min(start, p.Vaddr)
		}
	}
	return start, f.Entry &^ mode(f.Machine), nil
}

// mode is the bit of an address that tells the instruction set.
func mode(m elf.Machine) uint64 {
	if m == elf.EM_ARM || m == elf.EM_MIPS {
		return 1
	}
	return 0
}

// MainOf is the address of main by a program's symbols, 0 where it has none.
func MainOf(path string) (uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "main" {
			return s.Value &^ mode(f.Machine), nil
		}
	}
	return 0, nil
}
