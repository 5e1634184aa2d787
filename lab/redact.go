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
	good := 0
	for _, core := range f.Args() {
		r, err := redacted.Check(context.Background(), *backsight, *sysroot, core, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", core, err)
		}
		fmt.Println(&r)
		if r.Good() {
			good++
		}
	}
	fmt.Printf("%d of %d cores hold what is promised\n", good, f.NArg())
	if good < f.NArg() {
		return errors.New("not all do")
	}
	return nil
}
