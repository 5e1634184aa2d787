package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/backsight/backsight/lab/mutate"
	"github.com/backsight/backsight/lab/truth"
)

// runMutate damages recorded captures and prints what became of them.
func runMutate(args []string) error {
	fs := flag.NewFlagSet("mutate", flag.ExitOnError)
	opt := mutate.Options{}
	fs.StringVar(&opt.Root, "truth", "testdata/truth", "the folder of cases")
	fs.StringVar(&opt.Only, "only", "", "only cases whose path holds this")
	tiers := fs.String("tier", strings.Join(truth.Tiers[:], ","), "forms of the binaries")
	fs.IntVar(&opt.Every, "every", 1, "only each n-th capture")
	fs.Uint64Var(&opt.Seed, "seed", 1, "of the choice of damage")
	fs.BoolVar(&opt.Bits, "bits", false, "a report: instead, one bit of each return address that leads behind another call, one at a time")
	show := fs.Int("n", 10, "findings to show")
	if err := fs.Parse(args); err != nil {
		return err
	}
	opt.Tiers = strings.Split(*tiers, ",")
	opt.Bad = func(f mutate.Finding) {
		if *show--; *show < 0 {
			return
		}
		fmt.Printf("%s: %s, %s %s capture %d, frame %d\n", f.What, f.Damage, f.Case.Name, f.Tier, f.Index, f.Frame)
		for i := range f.Frames {
			want := "-"
			if i < len(f.Answer.Frames) {
				want = fmt.Sprintf("%#x %s", uint64(f.Answer.Frames[i].PC), f.Answer.Frames[i].Func)
			}
			g := &f.Frames[i]
			fmt.Printf("   #%-3d truth %-40s got %#x %v %v %v\n", i, want, g.PC, g.Method, g.Trust, g.Checks)
			if i > f.Frame {
				break
			}
		}
	}
	counts, err := mutate.Run(context.Background(), opt)
	mutate.Table(os.Stdout, counts)
	for _, c := range counts {
		if c.Lies > 0 && err == nil && !opt.Bits {
			err = fmt.Errorf("there are wrong frames that are certain")
		}
	}
	return err
}
