package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
)

// Known has a running service know a signature ("stable:" and key) of a group of which it has enough bodies, beside its back.
func Known(ctx context.Context, s *Service, key string) error {
	return KnownIn(ctx, "sqlite", "file:"+filepath.Join(s.data, "backsight.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)", key)
}

// KnownIn does that in the database that a driver of database/sql opens.
func KnownIn(ctx context.Context, driver, source, key string) error {
	d, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer d.Close()
	const group = "INSERT INTO groups (id, project_id, signature, title, kept, count, first_seen, last_seen) VALUES ($1, 1, $2, 'known', 50, $3, 0, 0)"
	_, err = d.ExecContext(ctx, group, knownGroup, "stable:"+key, knownCount)
	if err == nil {
		_, err = d.ExecContext(ctx, "INSERT INTO group_signatures (project_id, signature, group_id) VALUES (1, $1, $2)", "stable:"+key, knownGroup)
	}
	return err
}

// The group of Known, and how many crashes it has: of so many nobody asks for a body.
const knownGroup, knownCount = 1_000_000, 1_000_000_000

// offers looks whether all offers are counted that were answered: in the group, in its days and of its devices.
func (f *Fleet) offers(ctx context.Context, d *sql.DB, o *Outcome) error {
	o.Offered = f.offered.Load()
	const read = `SELECT count - $2, (SELECT coalesce(sum(count), 0) FROM group_counts WHERE group_id = g.id),
		(SELECT coalesce(sum(count), 0) FROM group_devices WHERE group_id = g.id) FROM groups g WHERE id = $1`
	var days, devices int64
	if err := d.QueryRowContext(ctx, read, knownGroup, knownCount).Scan(&o.Counted, &days, &devices); err != nil {
		return err
	}
	if o.Counted < o.Offered || days != o.Counted || devices != o.Counted {
		o.Lost = append(o.Lost, fmt.Sprintf("offers: %d answered, counted %d, on days %d, of devices %d", o.Offered, o.Counted, days, devices))
	}
	return nil
}

// Results is how many captures a service has worked on.
func Results(s *Service) (n float64, err error) {
	resp, err := http.Get(s.Base + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if _, after, ok := strings.Cut(string(b), `backsight_backtraces_total{outcome="done"} `); ok {
		_, err = fmt.Sscan(after, &n)
	}
	return n, err
}
