// Package retention lets go of what is kept: bodies and reports by age, by a project's size, and when a group has enough of them.
package retention

import (
	"context"
	"database/sql"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/store"
)

// batch is how many captures go in a transaction: others wait for no more.
const batch = 200

// Drop takes the body and the report of a capture, whose result stays as a row.
func Drop(ctx context.Context, tx *sql.Tx, id int64) error {
	for _, s := range []string{
		`UPDATE groups SET kept = kept - 1 WHERE id = (SELECT r.group_id FROM results r JOIN captures c ON c.id = r.capture_id
			WHERE r.capture_id = $1 AND c.kept = 1)`,
		"UPDATE captures SET kept = 0 WHERE id = $1",
		"UPDATE results SET report = NULL, page = NULL WHERE capture_id = $1",
		"DELETE FROM missing WHERE capture_id = $1",
		`DELETE FROM blobs WHERE sha256 = (SELECT sha256 FROM captures WHERE id = $1)
			AND NOT EXISTS (SELECT 1 FROM captures c WHERE c.sha256 = blobs.sha256 AND c.kept = 1)`,
	} {
		if _, err := tx.ExecContext(ctx, s, id); err != nil {
			return err
		}
	}
	return nil
}

// Expire lets captures go that are older than their project keeps them, with their results; the counts of their groups stay. Then it
// takes the oldest bodies of projects that have more than they may.
func Expire(ctx context.Context, d *db.DB, now time.Time) error {
	const old = `SELECT c.id FROM captures c JOIN projects p ON p.id = c.project_id
		WHERE c.status <> 'queued' AND c.received < $1 - p.keep_days * 86400000 LIMIT $2`
	for {
		n, err := each(ctx, d, remove, old, db.Milli(now), batch)
		if err != nil {
			return err
		}
		if n < batch {
			break
		}
	}
	const large = `SELECT p.id, p.keep_bytes FROM projects p WHERE p.keep_bytes > 0`
	projects, err := pairs(ctx, d.Read, large)
	if err != nil {
		return err
	}
	for _, p := range projects {
		if err := shrink(ctx, d, p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}

// shrink takes a project's oldest bodies until it has no more bytes than it may. A body of several captures counts for each.
func shrink(ctx context.Context, d *db.DB, project, most int64) error {
	const over = `SELECT id FROM (SELECT c.id, sum(b.stored) OVER (ORDER BY c.received DESC, c.id DESC) AS newer FROM captures c
		JOIN blobs b ON b.sha256 = c.sha256 WHERE c.project_id = $1 AND c.kept = 1 AND c.status <> 'queued') n WHERE newer > $2 LIMIT $3`
	for {
		if n, err := each(ctx, d, Drop, over, project, most, batch); n < batch || err != nil {
			return err
		}
	}
}

// remove takes a capture and all that is of it.
func remove(ctx context.Context, tx *sql.Tx, id int64) error {
	if err := Drop(ctx, tx, id); err != nil {
		return err
	}
	for _, s := range []string{"DELETE FROM search WHERE rowid = $1", "DELETE FROM results WHERE capture_id = $1", "DELETE FROM captures WHERE id = $1"} {
		if _, err := tx.ExecContext(ctx, s, id); err != nil {
			return err
		}
	}
	return nil
}

// each does something to the captures that a query finds, in a transaction, and tells how many these were.
func each(ctx context.Context, d *db.DB, do func(context.Context, *sql.Tx, int64) error, query string, args ...any) (n int, err error) {
	rows, err := d.Read.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return 0, err
	}
	return len(ids), d.Tx(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			if err := do(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func pairs(ctx context.Context, q *sql.DB, query string, args ...any) (list [][2]int64, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p [2]int64
		if err := rows.Scan(&p[0], &p[1]); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// Compact gives back the room of bodies that have gone.
func Compact(ctx context.Context, d *db.DB, s store.Store) error {
	live := func(segment uint64) (map[store.Ref]store.Sum, error) { return living(ctx, d, segment) }
	return s.Compact(ctx, live, func(moved map[store.Ref]store.Ref) error {
		return d.Tx(ctx, func(tx *sql.Tx) error {
			for old, now := range moved {
				if _, err := tx.ExecContext(ctx, "UPDATE blobs SET ref = $2 WHERE ref = $1", old.String(), now.String()); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// living are the bodies of a segment that somebody keeps.
func living(ctx context.Context, d *db.DB, segment uint64) (map[store.Ref]store.Sum, error) {
	from := store.Ref{Segment: segment}.Prefix()
	rows, err := d.Read.QueryContext(ctx, "SELECT ref, sha256 FROM blobs WHERE ref >= $1 AND ref < $2", from, from+"~")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := map[store.Ref]store.Sum{}
	for rows.Next() {
		var at string
		var sum []byte
		if err := rows.Scan(&at, &sum); err != nil {
			return nil, err
		}
		ref, err := store.ParseRef(at)
		if err != nil {
			return nil, err
		}
		list[ref] = store.Sum(sum)
	}
	return list, rows.Err()
}
