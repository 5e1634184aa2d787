package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/backsight/backsight/service/lab/fleet"
)

// alone is a measure of nodes for one that has no others.
func (l *loader) alone(measure func([]*fleet.Service) error) func(*fleet.Service) error {
	return func(s *fleet.Service) error { return measure([]*fleet.Service{s}) }
}

// uploads measures bodies of 200 kB from so many devices of each node. The first eight bytes of each make it another one.
func (l *loader) uploads(nodes []*fleet.Service) error {
	first := rand.Uint64() >> 1 // others may send to the same database
	own := make([][8]byte, l.devices*len(nodes))
	return l.measure("uploads of 200 kB", nodes, l.devices, 1, func(s *sender, device int, n int64) error {
		binary.LittleEndian.PutUint64(own[device][:], first+uint64(n))
		_, err := s.post(fmt.Sprintf("/api/v1/captures?key=%s&device=box%d", nodes[0].Key, n%10_000), own[device][:], l.body)
		return err
	})
}

// offers measures offers of a known group to a service that has the database in its folder.
func (l *loader) offers(s *fleet.Service) error {
	if err := fleet.Known(l.ctx, s, "ab"); err != nil {
		return err
	}
	return l.offered([]*fleet.Service{s})
}

// offered measures offers of a group that is known, of 100,000 devices in five versions: one a request, and a hundred, as a gateway
// would.
func (l *loader) offered(nodes []*fleet.Service) error {
	return errors.Join(l.offersOf(nodes, 1), l.offersOf(nodes, 100))
}

// offersOf is offered, so many a request.
func (l *loader) offersOf(nodes []*fleet.Service, each int) error {
	path := "/api/v1/offers?key=" + nodes[0].Key
	texts := make([][]byte, offerers*l.devices*len(nodes))
	return l.measure(fmt.Sprintf("durable offers, %d a request", each), nodes, offerers*l.devices, each, func(s *sender, device int, n int64) error {
		b := append(texts[device][:0], '[')
		for i := range int64(each) {
			box := (n*int64(each) + i) % 100_000
			b = fmt.Appendf(b, `{"stable":"ab","device":"box%d","version":"2.%d"},`, box, box%5)
		}
		b[len(b)-1] = ']'
		texts[device] = b
		_, err := s.post(path, b)
		return err
	})
}

// offerers is how many offer at once for each that uploads.
const offerers = 8

// measure has so many devices of each node do something again and again, and tells how often a second it was done, how long it took
// and what it cost. What is done at once counts as so many.
func (l *loader) measure(what string, nodes []*fleet.Service, devices, each int, do func(s *sender, device int, n int64) error) error {
	senders, closed, err := dialAll(nodes, devices)
	if err != nil {
		return err
	}
	defer closed()
	var mu sync.Mutex
	var took []time.Duration
	before := taken(nodes, l.postgres)
	start := time.Now()
	n, err := l.rate(len(senders), func(device int, n int64) error {
		if l.pace > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(float64(n) / l.pace * float64(time.Second)))))
		}
		began := time.Now()
		err := do(senders[device], device, n)
		long := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		took = append(took, long)
		return err
	})
	cost := taken(nodes, l.postgres).minus(before)
	if len(took) == 0 {
		return err
	}
	slices.Sort(took)
	at := func(p float64) time.Duration { return took[int(p*float64(len(took)-1))].Round(time.Millisecond) }
	most := 0
	for _, s := range nodes {
		most = max(most, memory(s.PID()))
	}
	count := float64(each) * float64(len(took))
	fmt.Printf("%s: %.0f a second, half within %v, 99 %% within %v; %s; a node has %d MB at most\n", what, n*float64(each), at(0.5), at(0.99),
		cost.each(count), most>>20)
	if l.postgres != nil {
		fmt.Printf("  a second of the nodes' processors carries %.0f, one of PostgreSQL's %.0f\n", count/cost.nodes, count/cost.postgres)
	}
	return err
}

// disk measures what the disk takes of as many bytes at a time as the service gets from all devices at once.
func (l *loader) disk(*fleet.Service) error {
	f, err := os.Create(l.data + "/disk")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var n int
	began := time.Now()
	for time.Since(began) < l.long {
		for range l.devices {
			w, err := f.Write(l.body)
			if n += w; err != nil {
				return err
			}
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	fmt.Printf("the disk itself: %.0f MB a second, %d kB between two synchronisations\n", float64(n)/time.Since(began).Seconds()/1e6,
		l.devices*len(l.body)/1000)
	return nil
}
