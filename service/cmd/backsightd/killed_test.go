package main

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/lab/fleet"
	"github.com/backsight/backsight/service/lab/power"
)

// asService has this program be backsightd.
const asService = "BACKSIGHTD_IS_THIS"

func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" || len(os.Args) > 1 && os.Args[1] == child.Command {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestKilled: whenever the service is killed, what was acknowledged has one result in the end.
func TestKilled(t *testing.T) {
	kills, captures := 15, 100
	if os.Getenv("BACKSIGHT_LONG") != "" {
		kills, captures = 50, 600
	}
	ctx := t.Context()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	start := func() (*fleet.Service, error) { return fleet.Start(ctx, data, []string{asService + "=1"}, exe) }
	f := fleet.New(captures)
	o, err := f.Try(ctx, &fleet.Trial{Start: start, Times: kills, Devices: 8, Within: 400 * time.Millisecond, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(o.String())
	if len(o.Lost) > 0 || o.Acked != captures || o.Results != o.Captures || o.Captures != captures {
		t.Errorf("%s; want %d captures with a result each", &o, captures)
	}
}

// TestPower: whenever power goes, and with it what was not synchronised, what was acknowledged is there and has one result in the end.
func TestPower(t *testing.T) {
	times, captures := 4, 60
	if os.Getenv("BACKSIGHT_LONG") != "" {
		times, captures = 30, 600
	}
	ctx := t.Context()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cuts, err := fleet.NewCuts(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer cuts.Close()
	trial := cuts.Trial(func() (*fleet.Service, error) { return fleet.Start(ctx, cuts.Data(), []string{asService + "=1"}, exe) }, times)
	trial.Devices, trial.Within = 8, time.Second
	f := fleet.New(captures)
	f.Symbols = true
	o, err := f.Try(ctx, trial)
	if errors.Is(err, power.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(o.String())
	if len(o.Lost) > 0 || o.Acked != captures || o.Results != o.Captures || o.Captures != captures || o.Symbols == 0 {
		t.Errorf("%s %q; want %d captures with a result each", &o, o.Lost, captures)
	}
}
