package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/lab/signatures"
)

// runSignatures measures signatures over crashes of which the bug is known.
func runSignatures(args []string) error {
	f := flag.NewFlagSet("signatures", flag.ExitOnError)
	backsight := f.String("backsight", "backsight", "the `COMMAND`, as a path")
	programs := f.String("programs", "lab/signatures/programs", "the `DIR` with the programs")
	functions := f.Bool("functions", false, "match the functions of the builds instead")
	dir := f.String("dir", "", "the `DIR` for builds and cores, which are kept there, and not made again")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		made, err := os.MkdirTemp("", "signatures")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		*dir = made
	}
	sources, err := filepath.Glob(filepath.Join(*programs, "*.c*"))
	if err != nil {
		return err
	}
	run := signatures.Matching
	if !*functions {
		run = func(ctx context.Context, sources []string, dir string) (string, error) {
			return signatures.Run(ctx, *backsight, sources, dir)
		}
	}
	table, err := run(context.Background(), sources, *dir)
	if err == nil {
		fmt.Print(table)
	}
	return err
}
