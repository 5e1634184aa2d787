package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/lab/fleet"
	"github.com/backsight/backsight/service/store/s3test"
)

// nodeCount is how many nodes there are.
const nodeCount = 3

// cluster is nodes of a program, with the servers that they share.
type cluster struct {
	data, program            string
	kills, captures, devices int
	within, long             time.Duration
	postgres                 *dbtest.Server
	objects                  *s3test.Server
}

const bucket = "crashes"

// run starts the servers, which are as durable as in earnest, and does what a command says.
func (c *cluster) run(ctx context.Context, command, from string) (err error) {
	if c.postgres, err = dbtest.Start([]string{"fsync=on", "shared_buffers=256MB", "max_wal_size=2GB"}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.postgres.Stop()) }()
	if c.objects, err = s3test.Start(ctx, filepath.Join(c.data, "objects")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.objects.Halt()) }()
	switch command {
	case "nodes":
		return c.killed(ctx)
	case "upgrade":
		return c.upgraded(ctx, from)
	case "simulate":
		return c.simulate(ctx, c.devices)
	}
	return c.load(ctx, command == "sustain")
}

// start starts a node of a program.
func (c *cluster) start(ctx context.Context, program string, n int, more ...string) (*fleet.Service, error) {
	return fleet.Start(ctx, filepath.Join(c.data, fmt.Sprint("node", n)), nil, program,
		append(more, "--workers", "2", "--database", c.postgres.URL("postgres"), "--store", c.objects.URL(bucket))...)
}

// killed kills nodes; PostgreSQL crashes now and then, S3 is away for a minute, and one node is lost for good.
func (c *cluster) killed(ctx context.Context) error {
	nodes := fleet.Cluster{Fleet: fleet.New(c.captures), Nodes: nodeCount, Lost: true, Pause: c.within,
		Start: func(n int) (*fleet.Service, error) { return c.start(ctx, c.program, n) },
		Meanwhile: func(kill int) error {
			switch {
			case kill == c.kills*3/4:
				if err := c.objects.Halt(); err != nil {
					return err
				}
				time.Sleep(time.Minute)
				return c.objects.Begin(ctx)
			case kill%100 == 50:
				return errors.Join(c.postgres.Halt("immediate"), c.postgres.Begin())
			}
			return nil
		}}
	return c.told(nodes.Kills(ctx, c.kills, c.devices, c.within, c.postgres.URL("postgres"), c.objects.URL(bucket)))
}

func (c *cluster) told(o fleet.Outcome, err error) error {
	fmt.Println(&o)
	if err == nil && (len(o.Lost) > 0 || o.Results != o.Captures) {
		err = fmt.Errorf("lost: %q", o.Lost)
	}
	return err
}

// upgraded ends nodes of one version as an operator does, one after the other, and starts those of another in their places.
func (c *cluster) upgraded(ctx context.Context, from string) error {
	starts := 0
	nodes := fleet.Cluster{Fleet: fleet.New(c.captures), Nodes: nodeCount, Pause: c.within, End: (*fleet.Service).Drain,
		Start: func(n int) (*fleet.Service, error) {
			program := c.program
			if starts++; starts <= nodeCount+c.kills/2 {
				program = from
			}
			return c.start(ctx, program, n)
		}}
	return c.told(nodes.Kills(ctx, c.kills, c.devices, c.within, c.postgres.URL("postgres"), c.objects.URL(bucket)))
}

// What is asked of three nodes at once, and a tenth more.
const sustainedUploads, sustainedOffers = 330, 5500

// load measures offers of a known group and uploads to three nodes at once: as many as they take, one after the other, or
// both together at what they must sustain.
func (c *cluster) load(ctx context.Context, together bool) (err error) {
	nodes := make([]*fleet.Service, nodeCount)
	for n := range nodes {
		if nodes[n], err = c.start(ctx, c.program, n, "--role", "intake"); err != nil {
			return err
		}
		defer nodes[n].Kill()
	}
	l := newLoader(ctx, c.data, c.devices, c.long)
	l.postgres = c.postgres
	known := func() error { return fleet.KnownIn(ctx, "pgx", c.postgres.URL("postgres"), "ab") }
	if !together {
		if err := errors.Join(l.uploads(nodes), known()); err != nil {
			return err
		}
		return l.offered(nodes)
	}
	if err := known(); err != nil {
		return err
	}
	offers := *l
	l.pace, offers.pace = sustainedUploads, sustainedOffers
	ended := make(chan error, 1)
	go func() { ended <- l.uploads(nodes) }()
	return errors.Join(offers.offersOf(nodes, 1), <-ended)
}
