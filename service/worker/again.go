package worker

import (
	"context"
	"database/sql"
)

// batch is how many jobs are made in a transaction.
const batch = 1000

// Came has the captures done again that wait for a binary, in the transaction that lists it.
func (w *Workers) Came(ctx context.Context, tx *sql.Tx, build string) (int, error) {
	ids, err := numbers(tx.QueryContext(ctx, "SELECT capture_id FROM missing WHERE build_id = $1", build))
	if err != nil {
		return 0, err
	}
	for at := 0; at < len(ids); at += batch {
		if err := w.insert(ctx, tx, ids[at:min(at+batch, len(ids))], true); err != nil {
			return 0, err
		}
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM missing WHERE build_id = $1", build)
	return len(ids), err
}

// Reprocess has the captures of a group (0: of all) that came since a time (milliseconds since 1970) done again, behind what
// comes. It tells how many these are.
func (w *Workers) Reprocess(ctx context.Context, group, since int64) (n int, err error) {
	const next = `SELECT c.id FROM captures c JOIN results r ON r.capture_id = c.id
		WHERE c.id > $1 AND c.kept = 1 AND c.received >= $2 AND ($3 = 0 OR r.group_id = $3) ORDER BY c.id LIMIT $4`
	last := int64(0)
	for {
		ids, err := numbers(w.DB.Read.QueryContext(ctx, next, last, since, group, batch))
		if err != nil || len(ids) == 0 {
			return n, err
		}
		if err := w.DB.Tx(ctx, func(tx *sql.Tx) error { return w.insert(ctx, tx, ids, true) }); err != nil {
			return n, err
		}
		n, last = n+len(ids), ids[len(ids)-1]
	}
}

func numbers(rows *sql.Rows, err error) (list []int64, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}
