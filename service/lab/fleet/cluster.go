package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/store"
)

// Cluster is nodes that share a database and a store, under a fleet's load.
type Cluster struct {
	Fleet *Fleet
	// Start starts node n in its own folder, again where it was killed.
	Start func(n int) (*Service, error)
	Nodes int
	// End is what befalls a node; nil: Service.Kill.
	End func(*Service) error
	// Lost: the last node is killed for good after half of the kills.
	Lost bool
	// Pause is the longest one of a device between two captures. The fleet sends as long as nodes are killed, or it has captures left.
	Pause time.Duration
	// Meanwhile is called before each kill, such as to restart a server that the nodes need; may be nil.
	Meanwhile func(kill int) error

	up []*Service
}

// Kills has a fleet of so many devices send to all nodes while random ones are killed at random moments, and tells what became of
// what was acknowledged.
func (c *Cluster) Kills(ctx context.Context, kills, devices int, within time.Duration, database, bodies string) (o Outcome, err error) {
	c.up, c.Fleet.Offers = make([]*Service, c.Nodes), true
	defer func() { err = errors.Join(err, c.end()) }()
	for n := range c.up {
		if c.up[n], err = c.Start(n); err != nil {
			return o, err
		}
	}
	c.told()
	if err := KnownIn(ctx, "pgx", database, offeredKey); err != nil {
		return o, err
	}
	sending, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for range devices {
		all.Go(func() { c.Fleet.device(sending, c.Pause) })
	}
	for o.Ends < kills {
		if err := c.one(&o, kills, within); err != nil {
			return o, err
		}
	}
	c.Fleet.left.Store(0)
	all.Wait()
	if err := Idle(ctx, c.up[0]); err != nil {
		return o, err
	}
	if err := c.end(); err != nil {
		return o, err
	}
	return o, c.look(ctx, database, bodies, &o)
}

// one kills a node, which starts again but where it is lost.
func (c *Cluster) one(o *Outcome, kills int, within time.Duration) (err error) {
	if c.Meanwhile != nil {
		if err := c.Meanwhile(o.Ends); err != nil {
			return err
		}
	}
	n := rand.IntN(len(c.up))
	lost := c.Lost && o.Ends == kills/2
	if lost {
		n = len(c.up) - 1
	}
	time.Sleep(time.Duration(rand.Int64N(int64(within))))
	end := c.End
	if end == nil {
		end = (*Service).Kill
	}
	if err := end(c.up[n]); err != nil {
		return err
	}
	o.Ends++
	if lost {
		c.up = c.up[:n]
		c.told()
		return nil
	}
	s, err := c.Start(n)
	if err != nil {
		return err
	}
	o.Slowest = max(o.Slowest, s.Started)
	c.up[n] = s
	c.told()
	return nil
}

// told tells the fleet where nodes are.
func (c *Cluster) told() {
	var urls []string
	for _, s := range c.up {
		urls = append(urls, s.URL)
	}
	c.Fleet.urls.Store(&urls)
}

// look counts what there is in the end, and reads each body.
func (c *Cluster) look(ctx context.Context, database, bodies string, o *Outcome) error {
	d, err := db.Open(ctx, database)
	if err != nil {
		return err
	}
	defer d.Close()
	s, err := store.OpenS3(ctx, bodies, nil)
	if err != nil {
		return err
	}
	o.Refused = c.Fleet.refused
	acked, _ := c.Fleet.acknowledged()
	if err := c.Fleet.offers(ctx, d.Read, o); err != nil {
		return err
	}
	return results(ctx, d, s, acked, o)
}

// end ends all nodes.
func (c *Cluster) end() (err error) {
	for _, s := range c.up {
		if s != nil {
			err = errors.Join(err, s.Kill())
		}
	}
	c.up = nil
	return err
}
