package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/backsight/backsight/lab/debian"
	"github.com/backsight/backsight/lab/score"
)

// debianLimits are for a program.
var debianLimits = debian.Limits{Steps: 12_000_000, Keep: 200}

// runDebian records programs as Debian ships them.
func runDebian(args []string) error {
	fs := flag.NewFlagSet("debian", flag.ExitOnError)
	l, only := laboratory(fs, debian.Programs(), "debian")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return recordDebian(ctx, l, *only)
}

// laboratory is one by flags; name is in its default folders.
func laboratory(fs *flag.FlagSet, programs []debian.Program, name string) (l *debian.Laboratory, only *string) {
	l = &debian.Laboratory{Programs: programs, Limits: debianLimits}
	fs.StringVar(&l.Root, "o", "truth-"+name, "the folder to write cases to")
	fs.StringVar(&l.Work, "work", name+"-packages", "the folder that packages are downloaded to and unpacked in")
	fs.IntVar(&l.Limits.Steps, "steps", l.Limits.Steps, "instructions to execute at most, a program")
	fs.IntVar(&l.Limits.Keep, "keep", l.Limits.Keep, "captures to keep at most, a program")
	return l, fs.String("only", "", "only cases whose path holds this")
}

// runForeign records programs of other languages and people, and scores them.
func runForeign(args []string) error {
	fs := flag.NewFlagSet("foreign", flag.ExitOnError)
	l, only := laboratory(fs, debian.Foreign(), "foreign")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed := recordDebian(ctx, l, *only)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	outcomes, broken, err := score.Run(ctx, score.Options{Root: l.Root, Only: *only, Tiers: []string{"stripped", "naked"}, Progress: counted("binaries scored")})
	if err != nil {
		return err
	}
	score.Table(os.Stdout, outcomes, []string{"arch"}, true)
	fmt.Println()
	score.Calibration(os.Stdout, outcomes, []string{"arch"})
	printWorse(outcomes)
	return errors.Join(append(broken, failed)...)
}

// recordDebian records the programs of all ports.
func recordDebian(ctx context.Context, l *debian.Laboratory, only string) error {
	if err := l.Prepare(ctx); err != nil {
		return err
	}
	failed := 0
	for _, p := range debian.Ports() {
		programs := slices.DeleteFunc(l.On(&p), func(prog debian.Program) bool { return !strings.Contains(p.Folder+"/"+prog.Name, only) })
		if len(programs) == 0 {
			continue
		}
		if tool := p.Missing(); tool != "" {
			fmt.Fprintf(os.Stderr, "skipped: %s: there is no %s\n", p.Name, tool)
			continue
		}
		if err := l.Fetch(ctx, &p); err != nil {
			return fmt.Errorf("packages of %s: %w", p.Name, err)
		}
		failed += recordPort(ctx, l, &p, programs)
	}
	if failed > 0 {
		return fmt.Errorf("%d programs could not be recorded", failed)
	}
	return ctx.Err()
}

// recordPort works on all cores and reports each program as it is done.
func recordPort(ctx context.Context, l *debian.Laboratory, p *debian.Port, programs []debian.Program) (failed int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range programs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r, err := l.Record(ctx, p, &programs[i])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				fmt.Fprintf(os.Stderr, "%s %s: %v\n", p.Folder, programs[i].Name, err)
				return
			}
			fmt.Fprintf(os.Stderr, "%s %s: %d captures in %d steps, %d odd\n", p.Folder, programs[i].Name, r.Captures, r.Steps, r.Odd)
		})
	}
	wg.Wait()
	return failed
}
