// Package inbox takes what arrives into the store and the database, many at once: the bodies of a group cost one synchronisation,
// their rows, jobs and counts one transaction. What Add and Count return for is durable.
//
//	Add ─┐
//	Add ─┼─► a group ─► bodies to the store ─► rows, jobs, counts to the database ─► all return
//	Count┘
//
// The bodies of a group are written while the rows of the one before are.
package inbox

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/groups"
	"github.com/backsight/backsight/service/store"
	"github.com/google/uuid"
)

// Bounds of a group.
const maxArrivals, maxCounts, maxGroup = 128, 4096, 64 << 20

// ErrClosed says that the service is stopping.
var ErrClosed = errors.New("the service is stopping")

// Key is what a sender shows: whose project it is, and how much of it a day is taken, 0 for all.
type Key struct {
	Key                               string
	Project                           int64
	DayCaptures, DayBytes, DeviceDays int64
}

// Arrival is a capture that has arrived.
type Arrival struct {
	Key                      Key
	Kind, File               string // see the captures table
	Device, Product, Version string
	ID                       string // the sender's own, if it has one: what it sends again has the same
	Annotations              map[string]string
	When                     time.Time  // 0: now
	Log                      string     // the end of the log that came with it
	Body                     store.Body // its Sum is that of the bytes without packing
	Packing                  string     // "", gzip or zstd
	Size                     int64      // without packing
}

// Queue has jobs done later: of the captures with these numbers.
type Queue interface {
	Insert(ctx context.Context, tx *sql.Tx, captures []int64) error
}

// Inbox is safe for concurrent use.
type Inbox struct {
	db       *db.DB
	store    store.Store
	queue    Queue
	arrivals chan *waiting
	counts   chan *waitingCounts
	stored   chan *group
	stop     chan struct{}
	done     chan struct{}
}

// waiting is an arrival whose sender waits.
type waiting struct {
	*Arrival
	ref      store.Ref
	appended bool
	name     string
	answer   chan error
}

// waitingCounts are crashes of one sender.
type waitingCounts struct {
	list   []groups.Count
	answer chan error
}

// New starts an inbox, which must be closed.
func New(d *db.DB, s store.Store, q Queue) *Inbox {
	in := &Inbox{db: d, store: s, queue: q, arrivals: make(chan *waiting, maxArrivals), counts: make(chan *waitingCounts, maxCounts),
		stored: make(chan *group), stop: make(chan struct{}), done: make(chan struct{})}
	go in.gather()
	go in.work()
	return in
}

// Close ends the inbox when all that waits is answered. Add and Count must not be called any more.
func (in *Inbox) Close() {
	close(in.stop)
	<-in.done
}

// Add keeps a capture and has it backtraced. The name is that of its report; what has arrived before keeps its name. The error is
// store.ErrFull where there is no room. The body is read before Add returns, and not later.
func (in *Inbox) Add(a *Arrival) (name string, err error) {
	w := &waiting{Arrival: a, answer: make(chan error, 1)}
	select {
	case in.arrivals <- w:
		err = <-w.answer
		return w.name, err
	case <-in.stop:
		return "", ErrClosed
	}
}

// Count counts crashes of known groups that were not sent. Their Signature is the key that they are known by, their time that of
// their transaction.
func (in *Inbox) Count(list []groups.Count) error {
	w := &waitingCounts{list, make(chan error, 1)}
	select {
	case in.counts <- w:
		return <-w.answer
	case <-in.stop:
		return ErrClosed
	}
}

// gather makes groups and has the store keep their bodies.
func (in *Inbox) gather() {
	defer close(in.stored)
	for {
		g := &group{}
		select {
		case w := <-in.arrivals:
			g.add(w)
		case c := <-in.counts:
			g.count(c)
			in.linger(g)
		case <-in.stop:
			if in.fill(g); len(g.arrivals)+len(g.counts) == 0 {
				return
			}
		}
		in.fill(g)
		in.keep(g)
		in.stored <- g
	}
}

// patience is how long counts wait for others, unless a body comes. A transaction costs some fifty times what one more count in it does.
const patience = 20 * time.Millisecond

// linger adds counts that come soon.
func (in *Inbox) linger(g *group) {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for g.crashes < maxCounts {
		select {
		case c := <-in.counts:
			g.count(c)
		case w := <-in.arrivals:
			g.add(w)
			return
		case <-enough.C:
			return
		case <-in.stop:
			return
		}
	}
}

// work commits groups.
func (in *Inbox) work() {
	defer close(in.done)
	for g := range in.stored {
		in.take(g)
	}
}

// groupTime bounds each half of a group's way.
const groupTime = time.Minute

// keep has the store keep a group's bodies.
func (in *Inbox) keep(g *group) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTime)
	defer cancel()
	g.err = in.bodies(ctx, g.arrivals)
}

// group is what is committed at once.
type group struct {
	arrivals []*waiting
	counts   []*waitingCounts
	crashes  int // that are counted
	size     int64
	err      error // what became of its bodies
}

func (g *group) add(w *waiting) {
	g.arrivals = append(g.arrivals, w)
	g.size += w.Body.Size
}

func (g *group) count(c *waitingCounts) {
	g.counts = append(g.counts, c)
	g.crashes += len(c.list)
}

// fill adds what waits by now: while a group is committed the next one gathers.
func (in *Inbox) fill(g *group) {
	for len(g.arrivals) < maxArrivals && g.size < maxGroup {
		select {
		case w := <-in.arrivals:
			g.add(w)
			continue
		default:
		}
		break
	}
	for g.crashes < maxCounts {
		select {
		case c := <-in.counts:
			g.count(c)
			continue
		default:
		}
		break
	}
}

// take commits a group and answers. Where a group fails, each of it is tried alone: the others have nothing to do with what one
// sender did.
func (in *Inbox) take(g *group) {
	err := in.commit(g)
	if errors.Is(err, errVanished) {
		in.keep(g)
		err = in.commit(g)
	}
	if err != nil && len(g.arrivals) > 1 && !outside(err) {
		in.each(g)
		return
	}
	if err != nil && db.Full(err) {
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	for _, w := range g.arrivals {
		w.answer <- err
	}
	for _, c := range g.counts {
		c.answer <- err
	}
}

// outside tells an error of the disk, the store or the database from one that an arrival may have brought.
func outside(err error) bool {
	return errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrAway) || db.Full(err) || db.Down(err) || errors.Is(err, context.DeadlineExceeded)
}

// each takes all of a group alone.
func (in *Inbox) each(g *group) {
	for _, w := range g.arrivals {
		one := &group{arrivals: []*waiting{w}}
		in.keep(one)
		in.take(one)
	}
	if len(g.counts) > 0 {
		in.take(&group{counts: g.counts, crashes: g.crashes})
	}
}

// commit writes a group's rows, once its bodies are kept.
func (in *Inbox) commit(g *group) error {
	if g.err != nil {
		return g.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), groupTime)
	defer cancel()
	return in.db.Tx(ctx, func(tx *sql.Tx) error {
		now := time.Now()
		rows := rows{tx: tx, now: now, used: map[usage]int64{}}
		if err := rows.addAll(ctx, g.arrivals); err != nil {
			return err
		}
		if len(rows.queued) > 0 {
			if err := in.queue.Insert(ctx, tx, rows.queued); err != nil {
				return err
			}
		}
		return groups.Offered(ctx, in.db, tx, g.counted(db.Milli(now)))
	})
}

// counted are the crashes of all that count.
func (g *group) counted(when int64) []groups.Count {
	list := make([]groups.Count, 0, g.crashes)
	for _, w := range g.counts {
		for _, c := range w.list {
			c.When, c.N = when, 1
			list = append(list, c)
		}
	}
	return list
}

// bodies appends those that the store does not have.
func (in *Inbox) bodies(ctx context.Context, list []*waiting) error {
	if len(list) == 0 {
		return nil
	}
	var bodies []store.Body
	var of []*waiting
	has, err := in.db.Read.PrepareContext(ctx, "SELECT 1 FROM blobs WHERE sha256 = $1")
	if err != nil {
		return err
	}
	defer has.Close()
	seen := map[store.Sum]bool{}
	for _, w := range list {
		if w.appended || seen[w.Body.Sum] {
			continue
		}
		var one int
		switch err := has.QueryRowContext(ctx, w.Body.Sum[:]).Scan(&one); {
		case errors.Is(err, sql.ErrNoRows):
			bodies, of = append(bodies, w.Body), append(of, w)
			seen[w.Body.Sum] = true
		case err != nil:
			return err
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	refs, err := in.store.Append(ctx, bodies)
	if err != nil {
		return err
	}
	for i, w := range of {
		w.ref, w.appended = refs[i], true
	}
	return nil
}

// unique is equal for what is the same capture sent again.
func (w *waiting) unique() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%q\x00%q\x00%x", w.Key.Project, w.Device, w.ID, w.Body.Sum))
	return sum[:]
}

// newName is a report's: later ones are greater.
func newName() (string, error) {
	id, err := uuid.NewV7()
	return hex.EncodeToString(id[:]), err
}
