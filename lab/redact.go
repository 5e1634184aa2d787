package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/backsight/backsight/lab/redacted"
)

// runRedact has cores redacted, and looks for what should not be left.
func runRedact(args []string) error {
	f := flag.NewFlagSet("redact", flag.ExitOnError)
	backsight := f.String("backsight", "backsight", "the `COMMAND`, as a path")
	sysroot := f.String("sysroot", "", "`DIR` with the programs of the cores and their libraries")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redact")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return redactAll(f.Args(), func(core string) (redacted.Result, error) {
		return redacted.Check(context.Background(), *backsight, *sysroot, core, dir)
	})
}

// redactAll checks cores, and prints what became of each.
func redactAll(cores []string, check func(core string) (redacted.Result, error)) error {
	good := 0
	for _, core := range cores {
		r, err := check(core)
		if err != nil {
			return fmt.Errorf("%s: %w", core, err)
		}
		fmt.Println(&r)
		if r.Good() {
			good++
		}
	}
	fmt.Printf("%d of %d cores hold what is promised\n", good, len(cores))
	if good < len(cores) {
		return errors.New("not all do")
	}
	return nil
}
