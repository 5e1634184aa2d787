package fleet

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
)

// Trial is how a service is treated.
type Trial struct {
	Start func() (*Service, error)
	End   func(*Service) error // what befalls it; nil: Service.Kill
	Times int                  // how often
	// Devices send at once. Within is the longest time from a start to what befalls the service.
	Devices int
	Within  time.Duration
	Data    string // the service's folder
	// Each: what was acknowledged is looked for after each start, too.
	Each bool
}

// Outcome is what became of a trial.
type Outcome struct {
	Ends, Acked, Captures, Results, Symbols int
	Lost                                    []string // what was acknowledged and has no result, or is another body
	Slowest                                 time.Duration
	Refused                                 map[string]int // answers other than 2xx, where they were counted
	Offered, Counted                        int64          // offers that were answered with 2xx, and crashes that were counted by any
}

func (o *Outcome) String() string {
	text := fmt.Sprintf("%d ends, %d captures and %d symbol files acknowledged, %d captures, %d results, %d lost; slowest start %v", o.Ends, o.Acked,
		o.Symbols, o.Captures, o.Results, len(o.Lost), o.Slowest)
	if o.Offered > 0 {
		text += fmt.Sprintf("; %d offers answered, %d counted", o.Offered, o.Counted)
	}
	if len(o.Refused) > 0 {
		text += fmt.Sprint("; refused: ", o.Refused)
	}
	return text
}

// Try has a fleet send while the service ends again and again at random moments, and tells what became of what was acknowledged.
func (f *Fleet) Try(ctx context.Context, t *Trial) (o Outcome, err error) {
	sending, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for range t.Devices {
		all.Go(func() { f.device(sending, t.Within/4) })
	}
	end := t.End
	if end == nil {
		end = (*Service).Kill
	}
	for range t.Times {
		s, err := f.start(ctx, t, &o)
		if err != nil {
			return o, err
		}
		time.Sleep(time.Duration(rand.Int64N(int64(t.Within))))
		if err := end(s); err != nil {
			return o, err
		}
		o.Ends++
	}
	s, err := f.start(ctx, t, &o)
	if err != nil {
		return o, err
	}
	all.Wait()
	if err := Idle(ctx, s); err != nil {
		return o, errors.Join(err, s.Kill())
	}
	if err := s.Kill(); err != nil {
		return o, err
	}
	return o, f.look(ctx, t.Data, &o)
}

// start starts the service, and looks where the trial has it look.
func (f *Fleet) start(ctx context.Context, t *Trial, o *Outcome) (*Service, error) {
	acked, symbols := f.acknowledged()
	s, err := t.Start()
	if err != nil {
		return nil, err
	}
	o.Slowest = max(o.Slowest, s.Started)
	f.urls.Store(&[]string{s.URL})
	if !t.Each {
		return s, nil
	}
	d, err := sql.Open("sqlite", "file:"+filepath.Join(t.Data, database)+"?mode=ro&_pragma=busy_timeout(10000)")
	if err == nil {
		err = errors.Join(lost(ctx, d, "SELECT 1 FROM captures WHERE name = $1", acked, o), d.Close())
	}
	lostSymbols(t.Data, symbols, o)
	if len(o.Lost) > 0 {
		err = errors.Join(err, fmt.Errorf("after %d ends %q are lost", o.Ends, o.Lost))
	}
	if err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

const database = "backsight.db"

// lost asks for each name.
func lost(ctx context.Context, d *sql.DB, query string, names []string, o *Outcome) error {
	for _, name := range names {
		var n int
		err := d.QueryRowContext(ctx, query, name).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			o.Lost = append(o.Lost, name)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func lostSymbols(data string, list []int64, o *Outcome) {
	for _, n := range list {
		want, path := symbols(n)
		if got, err := os.ReadFile(filepath.Join(data, "binaries", path)); err != nil || string(got) != string(want) {
			o.Lost = append(o.Lost, path)
		}
	}
}

// Idle waits until the service has no jobs.
func Idle(ctx context.Context, s *Service) error {
	for ctx.Err() == nil {
		resp, err := http.Get(s.Base + "/metrics")
		if err != nil {
			return err
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // it was read
		if err != nil {
			return err
		}
		if text := string(b); strings.Contains(text, "backsight_waiting 0\n") {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return ctx.Err()
}

// look counts what there is in the end, and reads each body.
func (f *Fleet) look(ctx context.Context, data string, o *Outcome) error {
	d, err := db.Open(ctx, filepath.Join(data, database))
	if err != nil {
		return err
	}
	defer d.Close()
	acked, symbols := f.acknowledged()
	o.Symbols = len(symbols)
	lostSymbols(data, symbols, o)
	disk, err := store.OpenDisk(filepath.Join(data, "bodies"), store.Options{})
	if err != nil {
		return err
	}
	defer disk.Close()
	return results(ctx, d, disk, acked, o)
}

// results looks for the result and the body of each capture.
func results(ctx context.Context, d *db.DB, s store.Store, acked []string, o *Outcome) error {
	const counts = "SELECT (SELECT count(*) FROM captures), (SELECT count(*) FROM results)"
	if err := d.Read.QueryRowContext(ctx, counts).Scan(&o.Captures, &o.Results); err != nil {
		return err
	}
	o.Acked = len(acked)
	const result = "SELECT 1 FROM captures c JOIN results r ON r.capture_id = c.id WHERE c.name = $1"
	if err := lost(ctx, d.Read, result, acked, o); err != nil {
		return err
	}
	return bodies(ctx, d, s, o)
}

// bodies reads each body that the database names.
func bodies(ctx context.Context, d *db.DB, s store.Store, o *Outcome) error {
	rows, err := d.Read.QueryContext(ctx, "SELECT sha256, ref, packing FROM blobs")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var sum []byte
		var at, form string
		if err := rows.Scan(&sum, &at, &form); err != nil {
			return err
		}
		if got, err := sumOf(s, at, form); err != nil || string(got) != string(sum) {
			o.Lost = append(o.Lost, fmt.Sprintf("body %s (%v)", at, err))
		}
	}
	return rows.Err()
}

func sumOf(s store.Store, at, form string) ([]byte, error) {
	ref, err := store.ParseRef(at)
	if err != nil {
		return nil, err
	}
	body, err := s.Open(ref)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	r, err := packing.Reader(form, body)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, err = io.Copy(h, r)
	return h.Sum(nil), err
}
