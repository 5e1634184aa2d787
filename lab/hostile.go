package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/corrupt"
	"github.com/backsight/backsight/lab/hostile"
)

// hostileFlags are those of lab hostile.
type hostileFlags struct {
	costs   hostile.Options
	mutants corrupt.Options
	seeds   string
	worker  string
	keep    string
	service string
	soak    hostile.Service
	mostMB  int64
	core    string
	latency bool
}

// runHostile runs the command over input that is made to cost much, and prints what it
// cost; or, with -n, over corrupted captures and binaries.
func runHostile(args []string) error {
	var f hostileFlags
	fs := flag.NewFlagSet("hostile", flag.ExitOnError)
	fs.StringVar(&f.costs.Command, "backsight", "backsight", "the command")
	fs.StringVar(&f.costs.Only, "only", "", "only this case")
	fs.IntVar(&f.costs.Scale, "scale", 1, "divide the size of the cases")
	fs.Uint64Var(&f.mutants.N, "n", 0, "instead, make so many mutants of captures and their binaries")
	fs.Uint64Var(&f.mutants.First, "first", 0, "the number of the first mutant")
	fs.StringVar(&f.seeds, "seeds", "testdata", "folders with captures to make mutants of, commas between them")
	fs.IntVar(&f.mutants.Workers, "workers", runtime.GOMAXPROCS(0), "processes that look at mutants")
	fs.StringVar(&f.keep, "keep", "", "write the mutants that fare badly into this folder")
	fs.StringVar(&f.worker, "worker", "", "(what the processes are started with)")
	fs.StringVar(&f.service, "service", "", "instead, post such input to a crash service, this `COMMAND`")
	fs.DurationVar(&f.soak.For, "for", 5*time.Minute, "how long to post")
	fs.Int64Var(&f.mostMB, "most", 1024, "MB of memory that the service may have, its processes together")
	fs.StringVar(&f.core, "core", "testdata/mips-deref/core.gz", "the core that the service knows")
	fs.BoolVar(&f.latency, "latency", false, "instead, measure how soon readers of large input end")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if f.latency {
		return f.runLatencies()
	}
	if f.service != "" {
		return f.runService(context.Background())
	}
	if f.mutants.N > 0 || f.worker != "" {
		return f.runMutants(context.Background())
	}
	return f.runCosts()
}

// runCosts prints a table of the cases.
func (f *hostileFlags) runCosts() error {
	dir, err := os.MkdirTemp("", "hostile-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| case | input | MB | exit | CPU s | peak MB | |\n|---|---|---|---|---|---|---|")
	wrong := 0
	err = hostile.Run(context.Background(), dir, f.costs, func(r hostile.Result) {
		if r.Wrong != "" {
			wrong++
		}
		fmt.Printf("| %s | %s | %.1f | %d | %.1f | %d | %s |\n",
			r.Name, r.What, float64(r.Input)/(1<<20), r.Exit, r.CPU.Seconds(), r.Memory>>20, r.Wrong)
	})
	if wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%d cases cost too much", wrong))
	}
	return err
}

// runService prints what each kind of client was told.
func (f *hostileFlags) runService(ctx context.Context) (err error) {
	f.soak.Command, f.soak.Most = strings.Fields(f.service), f.mostMB<<20
	if f.soak.Core, err = os.ReadFile(f.core); err != nil {
		return err
	}
	toll, err := f.soak.Soak(ctx)
	fmt.Printf("%v: at most %d MB of memory, %d of them the service itself. Open files before: %d, afterwards: %d; goroutines afterwards: %d.\n\n",
		f.soak.For, toll.Peak>>20, toll.Own>>20, toll.Before, toll.After, toll.Goroutines)
	fmt.Print("| client | HTTP status, 0 for none: how often |\n|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(toll.Posts)) {
		fmt.Printf("| %s |", kind)
		for _, status := range slices.Sorted(maps.Keys(toll.Posts[kind])) {
			fmt.Printf(" %d: %d;", status, toll.Posts[kind][status])
		}
		fmt.Println(" |")
	}
	return err
}

// runLatencies prints a table of the readers.
func (f *hostileFlags) runLatencies() error {
	dir, err := os.MkdirTemp("", "hostile-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| case | input | MB | opening s | context ms | SIGINT ms | cut while it is read |\n|---|---|---|---|---|---|---|")
	return hostile.Latencies(context.Background(), dir, f.costs, func(l hostile.Latency) {
		fmt.Printf("| %s | %s | %.1f | %.2f | %d | %d | %s |\n", l.Name, l.What, float64(l.Input)/(1<<20), l.Opening.Seconds(),
			l.Context.Milliseconds(), l.Interrupt.Milliseconds(), l.Cut)
	})
}

// runMutants prints the mutants that fare badly; -first with the number of one and -n 1
// makes it again.
func (f *hostileFlags) runMutants(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "seeds-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	f.mutants.Seeds, err = corrupt.Seeds(ctx, scratch, strings.Split(f.seeds, ",")...)
	if err != nil {
		return err
	}
	if f.worker != "" {
		return corrupt.Work(ctx, f.worker, f.mutants.Seeds, os.Stdin, os.Stdout)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f.mutants.Command = f.costs.Command
	f.mutants.Worker = func(ctx context.Context, dir string) *exec.Cmd {
		cmd := child.Command(ctx, self, "hostile", "-seeds", f.seeds, "-worker", dir)
		cmd.Stderr = os.Stderr
		return cmd
	}
	wrong := 0
	f.mutants.Found = func(m corrupt.Finding) {
		wrong++
		fmt.Printf("%d: %s, %s: %s\n", m.N, m.Seed.Name, m.What, m.Wrong)
		if err := f.save(m.Mutant); err != nil {
			fmt.Fprintln(os.Stderr, "lab:", err)
		}
	}
	f.mutants.Ran = func(n uint64) {
		if n%1000 == 0 {
			fmt.Printf("%d mutants of %d captures, %d fare badly\n", n, len(f.mutants.Seeds), wrong)
		}
	}
	err = corrupt.Run(ctx, f.mutants)
	if wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%d mutants fare badly", wrong))
	}
	return err
}

// save writes a mutant below the folder of -keep.
func (f *hostileFlags) save(m *corrupt.Mutant) error {
	if f.keep == "" {
		return nil
	}
	dir := filepath.Join(f.keep, fmt.Sprint(m.N))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return m.Seed.Write(dir, m.Files)
}
