package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/lab/conform"
	"github.com/backsight/backsight/lab/diff"
)

// runConformance writes CONFORMANCE.md.
func runConformance(args []string) error {
	fs := flag.NewFlagSet("conformance", flag.ExitOnError)
	opt := conform.Options{Diff: diff.Options{Archs: backsight.CPUs()}}
	fs.StringVar(&opt.Root, "truth", "testdata/truth", "the selection kept with the sources")
	fs.StringVar(&opt.Matrix, "matrix", "", "the folder that lab record wrote; empty keeps the section")
	fs.IntVar(&opt.Diff.Every, "every", 1, "compare only each n-th function of a binary")
	out := fs.String("o", "CONFORMANCE.md", "the document")
	if err := fs.Parse(args); err != nil {
		return err
	}
	opt.Binaries = fs.Args() // for the section of lab diff; none keep it
	kept, err := os.ReadFile(*out)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	opt.Kept = string(kept)
	var b bytes.Buffer
	if err := conform.Write(context.Background(), &b, opt); err != nil {
		return err
	}
	for _, w := range conform.Worse(opt.Kept, b.String()) {
		fmt.Fprintln(os.Stderr, "worse:", w)
	}
	return os.WriteFile(*out, b.Bytes(), 0o644)
}
