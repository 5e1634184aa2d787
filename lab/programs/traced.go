package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/lab/traced"
	"github.com/backsight/backsight/lab/tracer"
)

// Tracing says how a toolchain's programs are traced.
type Tracing struct {
	// Traced: recorded by the tracer's plugin, linked with the libraries below Root.
	Traced bool
	Root   string
	// Group is the folder of its cases, above that of the CPU variant.
	Group string
	CPU   CPU
}

// CPU is what captures are of.
type CPU struct {
	Name, ABI string
	Big       bool
}

// faster is how many times as many instructions the plugin sees in the time of a step
// in GDB's protocol.
const faster = 100

// trace records a program with its libraries by the tracer's plugin.
func (r *Recorder) trace(ctx context.Context, c *Case, full string) (Result, error) {
	t := c.Toolchain
	work := filepath.Dir(full)
	program := filepath.Join(work, "stripped.elf")
	if err := tool(ctx, work, t.Strip, "-s", "-o", program, full); err != nil {
		return Result{}, err
	}
	arch, ok := backsight.CPUs().ByName(t.CPU.Name, t.CPU.ABI, t.CPU.Big)
	if !ok {
		return Result{}, fmt.Errorf("no CPU %+v", t.CPU)
	}
	root, err := c.libraries(work)
	if err != nil {
		return Result{}, err
	}
	main, err := tracer.MainOf(full)
	if err != nil {
		return Result{}, err
	}
	libraries := "LD_LIBRARY_PATH=" + filepath.Join(root, "lib") + ":" + filepath.Join(root, "lib64")
	trace, err := tracer.Run(ctx, &tracer.Job{Plugin: r.plugin, Emulator: append(slices.Clone(t.Emulator), "-E", libraries), Root: root,
		Program: program, Main: main, Dir: work, Limit: r.Limits.Steps * faster, Keep: r.Limits.Keep})
	if err != nil {
		return Result{}, err
	}
	place := traced.Place{Dir: filepath.Join(r.Root, c.Dir()), Lib: filepath.Join(r.Root, c.group(), "lib"), Program: program, Root: root}
	k := traced.New(place, c.Program, arch)
	defer k.Close()
	if err := k.Add(trace); err != nil {
		return Result{}, err
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	return Result{k.Captures(), trace.Steps, trace.Odd}, k.Write()
}

// libraries is the folder whose lib has the program's libraries. This machine's own are
// copied: the emulator's files are told from the program's by their folder.
func (c *Case) libraries(work string) (string, error) {
	if c.Toolchain.Root != host {
		return c.Toolchain.Root, nil
	}
	root := filepath.Join(work, "root")
	errs := []error{os.MkdirAll(filepath.Join(root, "lib"), 0o755), os.Symlink("lib", filepath.Join(root, "lib64"))}
	for _, pattern := range []string{"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"} {
		errs = append(errs, copyFile(filepath.Join("/lib/x86_64-linux-gnu", pattern), filepath.Join(root, "lib", pattern)))
	}
	return root, errors.Join(errs...)
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
