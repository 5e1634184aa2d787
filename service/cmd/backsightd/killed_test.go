package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/lab/fleet"
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
	o, err := f.Kills(ctx, start, kills, 8, 400*time.Millisecond, filepath.Join(data, "backsight.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(o.String())
	if len(o.Lost) > 0 || o.Acked != captures || o.Results != o.Captures || o.Captures != captures {
		t.Errorf("%s; want %d captures with a result each", &o, captures)
	}
}
