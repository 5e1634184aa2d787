package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/lab/gdb"
	"github.com/backsight/backsight/lab/score"
	"github.com/backsight/backsight/lab/truth"
)

// runScore prints how right backtraces are over recorded truth.
func runScore(args []string) error {
	fs := flag.NewFlagSet("score", flag.ExitOnError)
	opt := score.Options{}
	fs.StringVar(&opt.Root, "truth", "testdata/truth", "the folder of cases")
	fs.StringVar(&opt.Only, "only", "", "only cases whose path holds this")
	tiers := fs.String("tier", strings.Join(truth.Tiers[:], ","), "forms of the binaries")
	by := fs.String("by", "arch", "group rows by these: "+strings.Join(score.Keys, ", "))
	list := fs.String("sources", "", "unwind sources to use, in order; all if empty")
	fs.IntVar(&opt.GDB, "gdb", 0, "score GDB beside, on each n-th snapshot")
	methods := fs.Bool("methods", false, "print how the frames were found, too")
	calibration := fs.Bool("calibration", false, "print how right each trust is, too")
	gate := fs.String("gate", "", "file of limits: tier arch column limit")
	dump := fs.Int("dump-wrong", 0, "print this many backtraces of each tier and CPU that are not whole")
	if err := fs.Parse(args); err != nil {
		return err
	}
	opt.Tiers = strings.Split(*tiers, ",")
	if *list != "" {
		sources, err := backsight.SelectSources(strings.Split(*list, ",")...)
		if err != nil {
			return err
		}
		opt.Sources = sources
	}
	if opt.GDB > 0 && !gdb.Available() {
		fmt.Fprintln(os.Stderr, "skipped: GDB's columns, there is no", gdb.Program)
		opt.GDB = 0
	}
	opt.Wrong = dumper(*dump)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if opt.GDB > 0 {
		opt.Progress = counted("binaries in GDB")
	}
	outcomes, broken, err := score.Run(ctx, opt)
	if err != nil {
		return err
	}
	score.Table(os.Stdout, outcomes, strings.Split(*by, ","), true)
	if *methods {
		fmt.Println()
		score.Methods(os.Stdout, outcomes)
	}
	if *calibration {
		fmt.Println()
		score.Calibration(os.Stdout, outcomes, strings.Split(*by, ","))
	}
	printWorse(outcomes)
	for _, b := range broken {
		fmt.Println("BROKEN", b)
	}
	if len(broken) > 0 {
		err = fmt.Errorf("%d cases could not be scored", len(broken))
	}
	if *gate != "" {
		err = errors.Join(err, missed(*gate, outcomes))
	}
	return err
}

// printWorse says which captures tables do harm to.
func printWorse(outcomes []score.Outcome) {
	for _, o := range score.Worse(outcomes) {
		fmt.Printf("WORSE with tables: %s %s step %d\n", o.Case.Name, o.Tier, o.Answer.Step)
	}
}

// dumper prints the first n backtraces of each tier and CPU that are not whole.
func dumper(n int) func(*truth.Case, string, *truth.Answer, []score.Got, score.Verdict) {
	if n == 0 {
		return nil
	}
	left := map[string]int{}
	return func(c *truth.Case, tier string, a *truth.Answer, got []score.Got, v score.Verdict) {
		key := tier + c.Arch
		if left[key] >= n {
			return
		}
		left[key]++
		fmt.Printf("-- %s %s %s step %d %s\n", tier, c.Name, a.Prog, a.Step, a.Kind)
		for i := range a.Frames {
			mark, g := " ", "-"
			if i >= v.OK {
				mark = ">"
			}
			if i < len(got) {
				g = fmt.Sprintf("%#x %v %v", got[i].PC, got[i].Method, got[i].Trust)
			}
			fmt.Printf("   %s #%-3d truth %#x %-30s got %s\n", mark, i, uint64(a.Frames[i].PC), a.Frames[i].Func, g)
		}
	}
}

// missed checks the limits of a gate file: lines "tier arch column limit", a
// minimum for whole, frames and cfa, a maximum for the rest; * is any CPU.
func missed(path string, outcomes []score.Outcome) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows := score.Group(outcomes, []string{"arch"})
	var all []error
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line, _, _ := strings.Cut(sc.Text(), "#")
		w := strings.Fields(line)
		if len(w) != 4 {
			continue
		}
		limit, err := strconv.ParseFloat(w[3], 64)
		if err != nil {
			return err
		}
		for key, r := range rows {
			tier, arch, _ := strings.Cut(key, " | ")
			if tier == w[0] && (w[1] == "*" || w[1] == arch) && !r.Meets(w[2], limit) {
				all = append(all, fmt.Errorf("missed: %s %s %s %g", tier, arch, w[2], limit))
			}
		}
	}
	return errors.Join(all...)
}
