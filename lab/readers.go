package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/backsight/backsight/lab/gdb"
	"github.com/backsight/backsight/lab/readers"
	"github.com/backsight/backsight/lab/truth"
)

// runReaders prints how right other programs are that unwind by our tables.
func runReaders(args []string) error {
	fs := flag.NewFlagSet("readers", flag.ExitOnError)
	var opt readers.Options
	fs.StringVar(&opt.Root, "truth", "testdata/truth", "the folder of cases")
	fs.StringVar(&opt.Only, "only", "", "only cases whose path holds this")
	fs.StringVar(&opt.Tier, "tier", "naked", "the form of the binaries")
	fs.StringVar(&opt.Form, "form", "debug_frame", "the form of GDB's debug file: debug_frame, eh_frame")
	fs.IntVar(&opt.GDB, "gdb", 1, "ask GDB about each n-th snapshot; 0: not at all")
	dump := fs.String("dump", "", "print the chains of this reader that are not whole")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if opt.GDB > 0 && !gdb.Available() {
		fmt.Fprintln(os.Stderr, "skipped: GDB's columns, there is no", gdb.Program)
		opt.GDB = 0
	}
	opt.Wrong = func(c *truth.Case, reader string, a *truth.Answer, got []uint64) {
		if reader != *dump {
			return
		}
		fmt.Printf("-- %s %s step %d %s\n", c.Name, a.Prog, a.Step, a.Kind)
		for i, f := range a.Frames {
			g := uint64(0)
			if i < len(got) {
				g = got[i]
			}
			fmt.Printf("   #%-3d truth %#x %-24s got %#x\n", i, uint64(f.PC), f.Func, g)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rows, err := readers.Run(ctx, opt)
	fmt.Printf("whole chains, %s binaries, %%\n\n| | n | %s |\n|---|---|%s\n", opt.Tier,
		strings.Join(readers.Readers[:], " | "), strings.Repeat("---|", len(readers.Readers)))
	for _, arch := range slices.Sorted(maps.Keys(rows)) {
		r := rows[arch]
		fmt.Printf("| %s | %d |", arch, r[2].N)
		for _, t := range r {
			fmt.Printf(" %s |", cell(t))
		}
		fmt.Println()
	}
	return err
}

// cell is a share of whole chains, with the chains that have a wrong frame.
func cell(t readers.Tally) string {
	if t.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f (%.1f wrong)", 100*float64(t.Whole)/float64(t.N), 100*float64(t.Wrong)/float64(t.N))
}
