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

// runConformance writes lab/results/conformance.md.
func runConformance(args []string) error {
	fs := flag.NewFlagSet("conformance", flag.ExitOnError)
	opt := conform.Options{Diff: diff.Options{Archs: backsight.CPUs()}}
	fs.StringVar(&opt.Root, "truth", "testdata/truth", "the selection kept with the sources")
	fs.StringVar(&opt.Results, "results", "lab/results", "the folder of tables that take tools and time")
	fs.StringVar(&opt.Matrix, "matrix", "", "the folder that lab record wrote; without it the last result is taken")
	fs.StringVar(&opt.Decoders, "decoders", "", "the output of the decoders' differential tests; without it the last result is taken")
	fs.IntVar(&opt.Diff.Every, "every", 1, "compare only each n-th function of a binary")
	out := fs.String("o", "lab/results/conformance.md", "the document")
	if err := fs.Parse(args); err != nil {
		return err
	}
	opt.Binaries = fs.Args() // for the section of lab diff; without any the last result is taken
	kept, err := os.ReadFile(*out)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	var b bytes.Buffer
	if err := conform.Write(context.Background(), &b, opt); err != nil {
		return err
	}
	for _, w := range conform.Worse(string(kept), b.String()) {
		fmt.Fprintln(os.Stderr, "worse:", w)
	}
	return os.WriteFile(*out, b.Bytes(), 0o644)
}
