package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/lab/traced"
	"github.com/backsight/backsight/lab/tracer"
)

// Limits bound a recording: Steps the instructions executed since main was called, Keep
// the captures.
type Limits struct{ Steps, Keep int }

// Laboratory is where programs are recorded.
type Laboratory struct {
	// Work keeps packages and inputs from one recording to the next.
	Work string
	// Root is the folder of cases.
	Root   string
	Limits Limits
	plugin string
	// writing: cases of a port share its libraries.
	writing sync.Mutex
}

// Result is what became of one program.
type Result struct {
	Captures, Steps, Odd int
}

// Prepare compiles the plugin and writes the programs' inputs.
func (l *Laboratory) Prepare(ctx context.Context) (err error) {
	if l.Work, err = filepath.Abs(l.Work); err != nil {
		return err
	}
	build := filepath.Join(l.Work, "plugin")
	if err := errors.Join(os.RemoveAll(build), os.MkdirAll(build, 0o755), writeInputs(l.inputs())); err != nil {
		return err
	}
	l.plugin, err = tracer.Build(ctx, build)
	return err
}

func (l *Laboratory) inputs() string { return filepath.Join(l.Work, "inputs") }

func (l *Laboratory) store(p *Port) *store { return &store{p, filepath.Join(l.Work, p.Name)} }

// Fetch downloads and unpacks all programs of a port.
func (l *Laboratory) Fetch(ctx context.Context, p *Port) error {
	return l.store(p).fetch(ctx, Packages())
}

// Record runs a program of a port and writes its case.
func (l *Laboratory) Record(ctx context.Context, p *Port, prog *Program) (Result, error) {
	arch, ok := backsight.CPUs().ByName(p.Arch, p.ABI, false)
	if !ok {
		return Result{}, fmt.Errorf("no CPU %s %s", p.Arch, p.ABI)
	}
	root := l.store(p).root()
	path, err := filepath.EvalSymlinks(filepath.Join(root, prog.Path))
	if err != nil {
		return Result{}, err
	}
	t, err := tracer.Run(ctx, &tracer.Job{Plugin: l.plugin, Emulator: []string{p.Emulator}, Root: root, Program: path, Args: prog.Args,
		Dir: l.inputs(), Limit: l.Limits.Steps, Keep: l.Limits.Keep})
	if err != nil {
		return Result{}, err
	}
	folder := filepath.Join(l.Root, p.Folder)
	place := traced.Place{Dir: filepath.Join(folder, prog.Name+"-debian-bin"), Lib: filepath.Join(folder, "lib"), Program: path, Root: root}
	c := traced.New(place, prog.Name, arch)
	defer c.Close()
	if err := c.Add(t); err != nil {
		return Result{}, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	return Result{Captures: c.Captures(), Steps: t.Steps, Odd: t.Odd}, c.Write()
}
