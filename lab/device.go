package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/backsight/backsight/lab/device"
	"github.com/backsight/backsight/lab/truth"
)

// runDevice prints how the reader of device tables does on recorded truth.
func runDevice(args []string) error {
	fs := flag.NewFlagSet("device", flag.ExitOnError)
	root := fs.String("truth", "testdata/truth", "the folder of cases")
	only := fs.String("only", "", "only cases whose path holds this")
	walks := fs.Bool("walks", false, "run the reader within programs on emulated machines, beside other ways to walk")
	packages := fs.String("packages", "", "with -walks: a folder to unpack Debian's libunwind into; empty: without it")
	dump := fs.Int("dump", 0, "print this many captures of each case that only Backsight gets whole")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *walks {
		runMetal(*only)
		return runWalks(*only, *packages)
	}
	cases, err := truth.Cases(*root, *only)
	if err != nil {
		return err
	}
	fmt.Printf("%-28s %8s %8s %8s %8s %8s %8s\n", "case", "chains", "whole", "bt", "wrong", "table", "% text")
	for i := range cases {
		dir, err := os.MkdirTemp("", "device")
		if err != nil {
			return err
		}
		o, err := device.Run(context.Background(), "device", dir, &cases[i])
		os.RemoveAll(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", cases[i].Name, err)
		}
		if o.Chains == 0 {
			continue
		}
		percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
		fmt.Printf("%-28s %8d %8.1f %8.1f %8.1f %8d %8.2f\n", o.Case, o.Chains, percent(o.Whole, o.Chains), percent(o.Walker, o.Chains),
			percent(o.Wrong, o.Chains), o.Table, percent(o.Table, o.Code))
		for _, u := range o.Unlike[:min(len(o.Unlike), *dump)] {
			fmt.Printf("  capture %d, stop %d: %x\n", u.Line, u.Stop, u.Got)
			for _, f := range u.Answer.Frames {
				fmt.Printf(" %x", uint64(f.PC))
			}
			fmt.Println()
		}
	}
	return nil
}

// runMetal prints how the reader does within programs without an operating system, by board.
func runMetal(only string) {
	fmt.Print("| | walks | whole, % | wrong, % |\n|---|---|---|---|\n")
	for _, b := range device.Boards() {
		if !strings.Contains(b.Name, only) {
			continue
		}
		var all device.Way
		for _, level := range []string{"-O0", "-O1", "-Os", "-O2"} {
			w, err := metal(&b, level)
			if err != nil {
				fmt.Fprintf(os.Stderr, "skipped: %s %s: %v\n", b.Name, level, err)
			}
			all.N, all.Whole, all.Wrong = all.N+w.N, all.Whole+w.Whole, all.Wrong+w.Wrong
		}
		if all.N > 0 {
			fmt.Printf("| %s | %d | %.1f | %.1f |\n", b.Name, all.N, 100*float64(all.Whole)/float64(all.N), 100*float64(all.Wrong)/float64(all.N))
		}
	}
	fmt.Println()
}

func metal(b *device.Board, level string) (device.Way, error) {
	dir, err := os.MkdirTemp("", "metal")
	if err != nil {
		return device.Way{}, err
	}
	defer os.RemoveAll(dir)
	return device.Metal(context.Background(), b, "device", dir, level)
}

// runWalks prints a table of the ways to walk within a program, by machine.
func runWalks(only, packages string) error {
	fmt.Print("| | way | walks | whole, % | wrong, % | instructions per frame | 99 % within |\n|---|---|---|---|---|---|---|\n")
	for _, m := range device.Machines() {
		if !strings.Contains(m.Name, only) {
			continue
		}
		dir, err := os.MkdirTemp("", "walks")
		if err != nil {
			return err
		}
		ways, err := device.Walks(context.Background(), &m, "device", dir, packages)
		if err != nil && packages != "" {
			fmt.Fprintf(os.Stderr, "%s: without libunwind: %v\n", m.Name, err)
			ways, err = device.Walks(context.Background(), &m, "device", dir, "")
		}
		os.RemoveAll(dir)
		if err != nil {
			fmt.Fprintf(os.Stderr, "skipped: %s: %v\n", m.Name, err)
			continue
		}
		for i, w := range ways {
			if w.N > 0 {
				fmt.Printf("| %s | %s | %d | %.1f | %.1f | %d | %d |\n", m.Name, device.Ways[i], w.N, 100*float64(w.Whole)/float64(w.N),
					100*float64(w.Wrong)/float64(w.N), w.Percentile(0.5), w.Percentile(0.99))
			}
		}
	}
	return nil
}
