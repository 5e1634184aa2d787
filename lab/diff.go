package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/lab/diff"
)

// runDiff compares each file and prints one table for all.
func runDiff(args []string) error {
	fs := flag.NewFlagSet("diff", flag.ExitOnError)
	opt := diff.Options{Archs: backsight.CPUs()}
	fs.StringVar(&opt.Subject, "subject", "code", "the source under test: code, ehabi, fp")
	fs.BoolVar(&opt.Naked, "naked", false, "hide symbols and sections from code analysis")
	fs.IntVar(&opt.Every, "every", 1, "only each n-th function")
	fs.IntVar(&opt.Keep, "n", 5, "disagreements to show")
	lint := fs.Bool("lint", false, "show the functions whose tables are in doubt")
	if err := fs.Parse(args); err != nil {
		return err
	}
	opt.Progress = func(done, all int) { fmt.Fprintf(os.Stderr, "\r%d/%d ", done, all) }
	var results []*diff.Result
	for _, path := range fs.Args() {
		r, err := diff.Run(path, opt)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		fmt.Fprintf(os.Stderr, "\r%s\n", path)
		results = append(results, r)
		show := r.Disagreements
		if *lint {
			show = r.Suspects
		}
		for i := range show {
			r.Show(os.Stdout, &show[i])
		}
		r.Situations(os.Stdout)
	}
	diff.Table(os.Stdout, results)
	return nil
}
