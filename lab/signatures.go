package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/backsight/backsight/lab/signatures"
)

// runSignatures measures signatures over crashes of which the bug is known.
func runSignatures(args []string) error {
	f := flag.NewFlagSet("signatures", flag.ExitOnError)
	backsight := f.String("backsight", "backsight", "the `COMMAND`, as a path")
	source := f.String("program", "lab/signatures/programs/relay.c", "the `FILE` with the bugs")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "signatures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	table, err := signatures.Run(context.Background(), *backsight, *source, dir)
	if err == nil {
		fmt.Print(table)
	}
	return err
}
