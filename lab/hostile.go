package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/backsight/backsight/lab/hostile"
)

// runHostile runs the command over input that is made to cost much, and prints what it
// cost.
func runHostile(args []string) error {
	fs := flag.NewFlagSet("hostile", flag.ExitOnError)
	opt := hostile.Options{}
	fs.StringVar(&opt.Command, "backsight", "backsight", "the command")
	fs.StringVar(&opt.Only, "only", "", "only this case")
	fs.IntVar(&opt.Scale, "scale", 1, "divide the size of the cases")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hostile-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| case | input | MB | exit | CPU s | peak MB | |\n|---|---|---|---|---|---|---|")
	wrong := 0
	err = hostile.Run(context.Background(), dir, opt, func(r hostile.Result) {
		if r.Wrong != "" {
			wrong++
		}
		fmt.Printf("| %s | %s | %.1f | %d | %.1f | %d | %s |\n",
			r.Name, r.What, float64(r.Input)/(1<<20), r.Exit, r.CPU.Seconds(), r.Memory>>20, r.Wrong)
	})
	if wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%d cases cost too much", wrong))
	}
	return err
}
