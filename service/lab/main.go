// Command lab tries the service as its users' fleets do, and measures it:
//
//	go run ./lab kill -program backsightd -kills 1000 -captures 10000   kills it at random moments
//	go run ./lab load -program backsightd                               uploads, offers, connections, backtraces
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
		return errors.New("which: kill or load?")
	}
	f := flag.NewFlagSet("lab "+args[0], flag.ContinueOnError)
	program := f.String("program", "backsightd", "the service")
	data := f.String("data", "", "an empty folder")
	kills := f.Int("kills", 1000, "how often it is killed")
	captures := f.Int("captures", 10_000, "how many captures are sent meanwhile")
	devices := f.Int("devices", 8, "how many devices send at once")
	within := f.Duration("within", 600*time.Millisecond, "the longest time to a kill")
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
		o, err := fleet.New(*captures).Kills(ctx, start, *kills, *devices, *within, filepath.Join(*data, "backsight.db"))
		fmt.Println(&o)
		return err
	case "load":
		return load(ctx, *program, *data, *devices, *seconds)
	}
	return fmt.Errorf("%q is none of kill, load", args[0])
}
