package main

import (
	"container/heap"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/service/lab/fleet"
)

// A bad release has each device crash once a minute (crashEvery), until it is replaced. What devices do then is what
// contrib/send-crashes.sh does: they offer, send when they are told to, and come again later and later where they are refused.
const (
	crashEvery  = time.Minute
	firstWait   = 5 * time.Second
	longestWait = time.Hour
	laterWait   = 5 * time.Minute
	senders     = 256
	tooLate     = 30 * time.Second // for an answer
)

// event is a device's next crash, or its next try.
type event struct {
	at     time.Time
	device int
	tries  int
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// simulation is devices that share a signature, and what they were answered.
type simulation struct {
	nodes []*fleet.Service
	key   string // of the crash
	text  []byte // a capture of it

	mu      sync.Mutex
	next    events
	answers map[string]int
	took    []time.Duration
	late    time.Duration // the longest time by which an offer was behind its device
}

// simulate has so many devices crash for a time.
func (c *cluster) simulate(ctx context.Context, devices int) (err error) {
	s := &simulation{answers: map[string]int{},
		text: append(fleet.Capture(1), strings.Repeat("eth0: link is up\n", bodySize/17)...)}
	for n := range nodeCount {
		node, err := c.start(ctx, c.program, n)
		if err != nil {
			return err
		}
		defer node.Kill()
		s.nodes = append(s.nodes, node)
	}
	d, err := sql.Open("pgx", c.postgres.URL("postgres"))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := s.first(ctx, d, c.postgres.URL("postgres")); err != nil {
		return err
	}
	began := time.Now()
	for i := range devices {
		s.next = append(s.next, event{at: began.Add(time.Duration(rand.Int64N(int64(crashEvery)))), device: i})
	}
	heap.Init(&s.next)
	before, err := seen(ctx, d)
	if err != nil {
		return err
	}
	costs := taken(s.nodes, c.postgres)
	s.play(ctx, began.Add(c.long))
	long := time.Since(began).Seconds()
	after, err := seen(ctx, d)
	if err != nil {
		return err
	}
	s.tell(long, float64(devices)/crashEvery.Seconds(), taken(s.nodes, c.postgres).minus(costs), after.minus(before))
	return nil
}

// first makes the release's crash known, with as many bodies as are always kept: of further ones a sample is asked for.
func (s *simulation) first(ctx context.Context, d *sql.DB, source string) error {
	s.key = "stable:ab"
	if err := fleet.KnownIn(ctx, "pgx", source, "ab"); err != nil {
		return err
	}
	_, err := d.ExecContext(ctx, "UPDATE groups SET count = 1000")
	return err
}

// play has what is due done, until the end.
func (s *simulation) play(ctx context.Context, end time.Time) {
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			p := &proxy{nodes: s.nodes, to: make([]*sender, len(s.nodes))}
			defer p.close()
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; now = time.Now() {
				if e, ok := s.due(now); ok {
					s.one(p, e)
				} else {
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
}

func (s *simulation) due(now time.Time) (event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.next) == 0 || s.next[0].at.After(now) {
		return event{}, false
	}
	e := heap.Pop(&s.next).(event)
	s.late = max(s.late, now.Sub(e.at))
	return e, true
}

// one has a device offer its crash, and do what it is told.
func (s *simulation) one(p *proxy, e event) {
	kind, key, _ := strings.Cut(s.key, ":")
	began := time.Now()
	answer, err := p.post("offers", e.device, fmt.Appendf(nil, `{%q:%q,"device":"box%d","product":"stb","version":"2.%d"}`, kind, key, e.device, e.device%5))
	took := time.Since(began)
	if err == nil && strings.Contains(answer, "send") {
		own := append(slices.Clone(s.text), fmt.Sprintf("box%d: %v\n", e.device, began)...)
		if _, err = p.post("captures", e.device, own); err == nil {
			answer = "sent"
		}
	}
	wait := crashEvery
	switch {
	case err != nil:
		e.tries++
		answer, wait = err.Error(), time.Duration(rand.Int64N(int64(min(longestWait, firstWait<<min(e.tries, 10)))))
	case strings.Contains(answer, "later"):
		answer, wait = "later", time.Duration(rand.Int64N(int64(laterWait)))
	case strings.Contains(answer, "known"):
		answer = "known"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[answer]++
	s.took = append(s.took, took)
	e.at = time.Now().Add(wait)
	if err == nil {
		e.tries = 0
	}
	heap.Push(&s.next, e)
}

// proxy sends what comes to any node, by a connection that stays.
type proxy struct {
	nodes []*fleet.Service
	to    []*sender // nil: there is no connection
}

func (p *proxy) post(what string, device int, body []byte) (answer string, err error) {
	n := rand.IntN(len(p.nodes))
	if p.to[n] == nil {
		if p.to[n], err = dial(p.nodes[n]); err != nil {
			return "", errors.New("no answer")
		}
	}
	err = p.to[n].conn.SetDeadline(time.Now().Add(tooLate))
	var b []byte
	if err == nil {
		b, err = p.to[n].post(fmt.Sprintf("/api/v1/%s?key=%s&device=box%d", what, p.nodes[n].Key, device), body)
	}
	answer = string(b)
	if err == nil {
		return answer, nil
	}
	_ = p.to[n].conn.Close() // a service that refuses does so too
	p.to[n] = nil
	if !errors.Is(err, errRefused) {
		err = errors.New("no answer")
	}
	return "", err
}

func (p *proxy) close() {
	for _, s := range p.to {
		if s != nil {
			_ = s.conn.Close() // nothing waits to be sent
		}
	}
}

// seenBy is what PostgreSQL has done since it began.
type seenBy struct{ commits, rows, bytes float64 }

func (a seenBy) minus(b seenBy) seenBy {
	return seenBy{a.commits - b.commits, a.rows - b.rows, a.bytes - b.bytes}
}

func seen(ctx context.Context, d *sql.DB) (l seenBy, err error) {
	err = d.QueryRowContext(ctx, `SELECT xact_commit, tup_inserted + tup_updated + tup_deleted, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&l.commits, &l.rows, &l.bytes)
	return l, err
}

// tell says what was, beside what the model says: each device offers once a minute, each offer that is counted is a row.
func (s *simulation) tell(long, model float64, cost account, pg seenBy) {
	if len(s.took) == 0 {
		fmt.Println("no device had its turn")
		return
	}
	slices.Sort(s.took)
	at := func(p float64) time.Duration { return s.took[int(p*float64(len(s.took)-1))].Round(time.Millisecond) }
	fmt.Printf("offers a second: %.0f, by the model %.0f; the latest %v behind its device\n", float64(len(s.took))/long, model, s.late.Round(time.Millisecond))
	fmt.Printf("answers: %v; half within %v, 99 %% within %v\n", s.answers, at(0.5), at(0.99))
	fmt.Printf("an offer: %s; all nodes: %.2f processors, PostgreSQL: %.2f\n", cost.each(float64(len(s.took))), cost.nodes/long, cost.postgres/long)
	fmt.Printf("PostgreSQL a second: %.0f commits, %.0f rows written (%.1f an offer), %.0f kB of WAL\n", pg.commits/long, pg.rows/long, pg.rows/float64(len(s.took)), pg.bytes/long/1000)
}
