package tracer

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/lab/child"
)

// Job is a program to run.
type Job struct {
	// Plugin is what Build made, Emulator QEMU's user mode for the program's CPU.
	Plugin, Emulator string
	// Root is the folder where the program's absolute paths are looked for first.
	Root string
	// Program is the executable's path on this machine; Args begin behind its name.
	Program string
	Args    []string
	// Dir is where it runs.
	Dir string
	// Limit bounds the instructions executed since main was called, Keep the captures.
	Limit, Keep int
}

// Run runs a program twice: the first run counts its instructions, so that the second
// can spread the captures over all of them.
func Run(ctx context.Context, job *Job) (*Trace, error) {
	entry, err := entryOffset(job.Program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", job.Program, err)
	}
	dir, err := os.MkdirTemp("", "tracer")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := runner{job: job, entry: entry, out: filepath.Join(dir, "trace")}
	count, err := r.run(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if count.Steps == 0 {
		return nil, errors.New("main was not reached")
	}
	return r.run(ctx, job.Keep, count.Steps)
}

type runner struct {
	job   *Job
	entry uint64
	out   string
}

// run is one run. The environment, the random numbers of the emulator and with these
// the addresses are the same in each.
func (r *runner) run(ctx context.Context, keep, total int) (*Trace, error) {
	j := r.job
	plugin := fmt.Sprintf("file=%s,out=%s,keep=%d,total=%d,limit=%d,entry=%d", j.Plugin, r.out, keep, total, j.Limit, r.entry)
	args := append([]string{"-singlestep", "-seed", "1", "-L", j.Root, "-plugin", plugin, j.Program}, j.Args...)
	cmd := child.Command(ctx, j.Emulator, args...)
	cmd.Dir = j.Dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	failed := run(cmd) // programs that are stopped or complain have a trace, too
	t, err := readFile(r.out)
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	return t, nil
}

// entryOffset is how far behind the lowest executable segment a program begins: that
// segment's address is what QEMU tells a plugin, the entry it tells is the dynamic
// linker's.
func entryOffset(path string) (uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	start := uint64(math.MaxUint64)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			start = min(start, p.Vaddr)
		}
	}
	const thumb = 1 // bit 0 of an ARM program's entry
	if f.Machine == elf.EM_ARM {
		return f.Entry&^thumb - start, nil
	}
	return f.Entry - start, nil
}
