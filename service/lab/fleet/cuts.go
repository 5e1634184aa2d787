package fleet

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/service/lab/power"
)

// Cuts is a power supply: services that it starts lose what they have not synchronised when they end.
type Cuts struct {
	dir     string
	disk    *power.Disk
	unmount func() error
	random  *rand.Rand
}

// NewCuts has its disk at an empty folder, which it makes. The seed decides what is lost.
func NewCuts(dir string, seed uint64) (*Cuts, error) {
	return &Cuts{dir: dir, disk: power.New(), random: rand.New(rand.NewPCG(seed, 0))}, os.MkdirAll(dir, 0o700)
}

// Data is the folder of the service's data, which the service makes itself.
func (c *Cuts) Data() string { return filepath.Join(c.dir, "data") }

// Trial cuts the power so many times.
func (c *Cuts) Trial(start func() (*Service, error), times int) *Trial {
	begin := func() (*Service, error) {
		if err := c.Close(); err != nil {
			return nil, err
		}
		unmount, err := c.disk.Mount(c.dir)
		if err != nil {
			return nil, err
		}
		c.unmount = unmount
		return start()
	}
	return &Trial{Start: begin, End: c.cut, Times: times, Data: c.Data(), Each: true}
}

// cut takes the power: a third of the times nothing outlives that was not synchronised, else some of it.
func (c *Cuts) cut(s *Service) error {
	luck := max(0, 1.5*c.random.Float64()-0.5)
	c.disk = c.disk.Cut(c.random, luck)
	return s.Kill()
}

// Close takes the disk away.
func (c *Cuts) Close() (err error) {
	if c.unmount != nil {
		err = c.unmount()
		c.unmount = nil
	}
	if err != nil {
		err = errors.Join(errors.New("the disk stays mounted"), err)
	}
	return err
}
