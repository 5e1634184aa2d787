package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"github.com/backsight/backsight/lab/programs"
)

// runRecord builds and records every program for which the machine has the tools.
func runRecord(args []string) error {
	fs := flag.NewFlagSet("record", flag.ExitOnError)
	root := fs.String("o", "truth", "the folder to write cases to")
	only := fs.String("only", "", "only cases whose path holds this")
	list := fs.Bool("list", false, "list the cases and stop")
	l := limits(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	cases, skipped := programs.Matrix(*only)
	for _, s := range skipped {
		fmt.Fprintln(os.Stderr, "skipped:", s)
	}
	if *list {
		for i := range cases {
			fmt.Println(cases[i].Dir())
		}
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := recordAll(ctx, cases, *root, *l)
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases could not be recorded", failed, len(cases))
	}
	return ctx.Err()
}

// limits are the flags that bound a recording.
func limits(fs *flag.FlagSet) *programs.Limits {
	l := new(programs.Limits)
	fs.IntVar(&l.Steps, "steps", 40000, "instructions to execute at most, a program")
	fs.IntVar(&l.Keep, "keep", 160, "captures to keep at most, a program")
	return l
}

// recordAll works on all cores and reports each case as it is done.
func recordAll(ctx context.Context, cases []programs.Case, root string, l programs.Limits) (failed int, err error) {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	rec := programs.Recorder{Root: root, Limits: l}
	if err := rec.Prepare(ctx, cases, dir); err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	done := 0
	for i := range cases {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			r, err := rec.Record(ctx, &cases[i])
			mu.Lock()
			defer mu.Unlock()
			done++
			fmt.Fprintf(os.Stderr, "%d/%d %s: ", done, len(cases), cases[i].Dir())
			if err != nil {
				failed++
				fmt.Fprintln(os.Stderr, err)
				return
			}
			fmt.Fprintf(os.Stderr, "%d captures in %d steps, %d odd, %.1f s\n", r.Captures, r.Steps, r.Odd, time.Since(start).Seconds())
		})
	}
	wg.Wait()
	return failed, nil
}
