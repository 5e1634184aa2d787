// Command lab tries the service as its users' fleets do, and measures it:
//
//	go run ./lab kill -program backsightd -kills 1000 -captures 10000   kills it at random moments
//	go run ./lab power -program backsightd -kills 100 -captures 2000    takes the power from it and its disk (as root: FUSE)
//	go run ./lab soak -program backsightd -time 1h                      hostile senders, and an honest one
//	go run ./lab load -program backsightd                               uploads, offers, connections, backtraces
//	go run ./lab nodes -program backsightd -kills 1000                  kills three nodes, PostgreSQL and S3 (which it starts itself)
//	go run ./lab upgrade -program new -from old                         has nodes of one version follow those of another
//	go run ./lab cluster -program backsightd -time 10m                  offers and uploads to three nodes
//	go run ./lab sustain -program backsightd -time 10m                  both at once, at the rates that are asked for
//	go run ./lab simulate -program backsightd -devices 100000 -time 3m  plays devices of a bad release
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/backsight/backsight/service/lab/fleet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which: kill, power, load, soak, nodes, upgrade, cluster, sustain or simulate?")
	}
	f := flag.NewFlagSet("lab "+args[0], flag.ContinueOnError)
	program := f.String("program", "backsightd", "the service")
	data := f.String("data", "", "an empty folder")
	kills := f.Int("kills", 1000, "how often it is killed")
	captures := f.Int("captures", 10_000, "how many captures are sent meanwhile")
	devices := f.Int("devices", 8, "how many devices send at once")
	within := f.Duration("within", 600*time.Millisecond, "the longest time to a kill")
	seed := f.Uint64("seed", 1, "what decides which sectors outlive the loss of power")
	from := f.String("from", "", "the service that is upgraded from")
	seconds := f.Duration("time", 10*time.Second, "how long each load lasts")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if *data == "" {
		return errors.New("-data is missing")
	}
	switch args[0] {
	case "kill":
		start := func() (*fleet.Service, error) { return fleet.Start(ctx, *data, nil, *program) }
		return try(ctx, *captures, &fleet.Trial{Start: start, Times: *kills, Devices: *devices, Within: *within, Data: *data})
	case "power":
		cuts, err := fleet.NewCuts(*data, *seed)
		if err != nil {
			return err
		}
		t := cuts.Trial(func() (*fleet.Service, error) { return fleet.Start(ctx, cuts.Data(), nil, *program) }, *kills)
		t.Devices, t.Within = *devices, *within
		return errors.Join(try(ctx, *captures, t), cuts.Close())
	case "load":
		return load(ctx, *program, *data, *devices, *seconds)
	case "soak":
		return soaked(ctx, *program, *data, *seconds)
	case "nodes", "upgrade", "cluster", "sustain", "simulate":
		c := cluster{data: *data, program: *program, kills: *kills, captures: *captures, devices: *devices, within: *within, long: *seconds}
		return c.run(ctx, args[0], *from)
	}
	return fmt.Errorf("%q is none of kill, power, load, soak, nodes, upgrade, cluster, simulate", args[0])
}

// try has a fleet send, and says what became of it.
func try(ctx context.Context, captures int, t *fleet.Trial) error {
	f := fleet.New(captures)
	f.Symbols = true
	o, err := f.Try(ctx, t)
	fmt.Println(&o)
	if err == nil && len(o.Lost) > 0 {
		err = fmt.Errorf("lost: %q", o.Lost)
	}
	return err
}
