package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	Root string
	// Programs are to be recorded.
	Programs []Program
	Limits   Limits
	plugin   string
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

// Fetch downloads and unpacks Debian's packages of a port.
func (l *Laboratory) Fetch(ctx context.Context, p *Port) error {
	return l.store(p).fetch(ctx, p.packages(l.Programs))
}

// On are the programs that are shipped for a port.
func (l *Laboratory) On(p *Port) (programs []Program) {
	for _, prog := range l.Programs {
		if _, ok := p.has(&prog); ok {
			programs = append(programs, prog)
		}
	}
	return programs
}

// place finds a program and what its case needs.
func (l *Laboratory) place(ctx context.Context, p *Port, prog *Program) (traced.Place, error) {
	s := l.store(p)
	dir := s.unpacked()
	cpu, _ := p.has(prog)
	if cpu != "" {
		if err := s.fetchNPM(ctx, prog, cpu); err != nil {
			return traced.Place{}, err
		}
		dir = s.npm(prog)
	}
	path := filepath.Join(dir, strings.ReplaceAll(prog.Path, "{cpu}", cpu))
	found, err := filepath.Glob(path)
	if err != nil || len(found) == 0 {
		return traced.Place{}, fmt.Errorf("%s: no such program (%v)", path, err)
	}
	if path, err = filepath.EvalSymlinks(found[0]); err != nil {
		return traced.Place{}, err
	}
	folder := filepath.Join(l.Root, p.Folder)
	return traced.Place{Dir: filepath.Join(folder, prog.Name+"-debian-bin"), Lib: filepath.Join(folder, "lib"), Program: path, Root: s.dir}, nil
}

// Record runs a program of a port and writes its case.
func (l *Laboratory) Record(ctx context.Context, p *Port, prog *Program) (Result, error) {
	arch, ok := backsight.CPUs().ByName(p.Arch, p.ABI, false)
	if !ok {
		return Result{}, fmt.Errorf("no CPU %s %s", p.Arch, p.ABI)
	}
	place, err := l.place(ctx, p, prog)
	if err != nil {
		return Result{}, err
	}
	var args []string
	for _, a := range prog.Args {
		args = append(args, strings.ReplaceAll(a, "{dir}", filepath.Dir(place.Program)))
	}
	t, err := tracer.Run(ctx, &tracer.Job{Plugin: l.plugin, Emulator: []string{p.Emulator}, Root: p.root(l.store(p).unpacked()),
		Program: place.Program, Args: args,
		Dir: l.inputs(), Limit: l.Limits.Steps, Keep: l.Limits.Keep})
	if err != nil {
		return Result{}, err
	}
	c := traced.New(place, prog.Name, arch)
	defer c.Close()
	if err := c.Add(t); err != nil {
		return Result{}, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	return Result{Captures: c.Captures(), Steps: t.Steps, Odd: t.Odd}, c.Write()
}
