package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/lab/fleet"
	"github.com/backsight/backsight/service/store/s3test"
)

// TestNodesKilled: three nodes share PostgreSQL and S3; random ones are killed at random moments under load, one of them for good,
// and PostgreSQL itself once, as by a loss of its process. Whatever was acknowledged has one result in the end.
func TestNodesKilled(t *testing.T) {
	postgres := dbtest.For(t)
	objects := s3test.For(t, t.TempDir())
	const kills, most = 50, 600
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	database := postgres.URL("postgres")
	c := fleet.Cluster{Fleet: fleet.New(most), Nodes: 3, Lost: true, Pause: 600 * time.Millisecond,
		Start: func(n int) (*fleet.Service, error) {
			return fleet.Start(t.Context(), filepath.Join(dir, fmt.Sprint("node", n)), []string{asService + "=1"}, exe, "--workers", "2",
				"--database", database, "--store", objects.URL("crashes"))
		},
		Meanwhile: func(kill int) error {
			if kill != kills/4 {
				return nil
			}
			if err := postgres.Halt("immediate"); err != nil {
				return err
			}
			return postgres.Begin()
		}}
	o, err := c.Kills(t.Context(), kills, 6, 300*time.Millisecond, database, objects.URL("crashes"))
	if err != nil {
		t.Fatal(err, &o)
	}
	t.Log(&o)
	if len(o.Lost) > 0 || o.Results != o.Captures || o.Acked < kills {
		t.Errorf("%s: each capture is to have a result; lost: %v", &o, o.Lost)
	}
}
