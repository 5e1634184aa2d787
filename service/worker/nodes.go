package worker

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// A node says that it lives every beat. One that has not for gone is believed to have died, and the jobs that it had are free again:
// well within a minute, and without the attempt, which was no fault of theirs. One that only seemed so writes its results beside those
// who have its jobs by now: a capture has one result, counted once, whoever comes last.
const beat, gone = 3 * time.Second, 20 * time.Second

// Times are the database's, since nodes' clocks differ.
const (
	lives = `INSERT INTO nodes (id, seen) VALUES ($1, (extract(epoch FROM now()) * 1000)::bigint) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen`
	free  = `UPDATE river_job SET state = 'available', attempt = max(attempt - 1, 0), scheduled_at = now() WHERE state = 'running'
		AND attempted_by[array_upper(attempted_by, 1)] NOT IN (SELECT id FROM nodes WHERE seen > (extract(epoch FROM now()) * 1000)::bigint - $1)`
	own = `UPDATE river_job SET state = 'available', attempt = max(attempt - 1, 0), scheduled_at = now() WHERE state = 'running'
		AND attempted_by[array_upper(attempted_by, 1)] = $1`
	forget = `DELETE FROM nodes WHERE seen < (extract(epoch FROM now()) * 1000)::bigint - 86400000`
)

// reclaim frees the jobs that this node had when it ended: on SQLite nobody else has any.
func (w *Workers) reclaim(ctx context.Context) error {
	return w.DB.Tx(ctx, func(tx *sql.Tx) error {
		if !w.DB.Postgres() {
			_, err := tx.ExecContext(ctx, "UPDATE river_job SET state = 'available' WHERE state = 'running'")
			return err
		}
		_, freed := tx.ExecContext(ctx, own, w.Node)
		_, known := tx.ExecContext(ctx, lives, w.Node)
		return errors.Join(freed, known)
	})
}

// alive says that this node lives, and frees the jobs of those that do not, until ctx ends. Where the database is away for long,
// nobody can tell; so nodes are looked after only when this one has been heard of twice.
func (w *Workers) alive(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	heard := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.pulse(ctx, heard > int(gone/beat)); err != nil {
			heard = 0
			if ctx.Err() == nil {
				w.Log.Warn("node", "error", err)
			}
			continue
		}
		heard++
	}
}

func (w *Workers) pulse(ctx context.Context, look bool) error {
	ctx, cancel := context.WithTimeout(ctx, gone/2)
	defer cancel()
	if _, err := w.DB.Write.ExecContext(ctx, lives, w.Node); err != nil || !look {
		return err
	}
	done, err := w.DB.Write.ExecContext(ctx, free, gone.Milliseconds())
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		w.Log.Warn("jobs of nodes that are gone", "jobs", n, "error", err)
	}
	_, err = w.DB.Write.ExecContext(ctx, forget)
	return err
}
