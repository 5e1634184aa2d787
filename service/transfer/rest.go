package transfer

import (
	"context"
	"database/sql"

	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/worker"
)

// maxReport bounds a report, in bytes, as the page does.
const maxReport = 256 << 20

// words makes the words anew that captures are found by. Of a capture whose report is not kept any more these are its innermost
// functions, its annotations and its log: SQLite's table has no texts (sqlite.org/fts5.html, 4.4.3).
func (t *Transfer) words(ctx context.Context) error {
	last, err := t.done(ctx, "search")
	if err != nil {
		return err
	}
	for {
		ids, err := t.after(ctx, last)
		if err != nil || len(ids) == 0 {
			return err
		}
		err = t.To.Tx(ctx, func(tx *sql.Tx) error {
			for _, id := range ids {
				if err := t.word(ctx, tx, id); err != nil {
					return err
				}
			}
			return t.mark(ctx, tx, "search", ids[len(ids)-1])
		})
		if err != nil {
			return err
		}
		last = ids[len(ids)-1]
	}
}

// after are the next captures that have a result.
func (t *Transfer) after(ctx context.Context, last int64) (ids []int64, err error) {
	found, err := t.To.Read.QueryContext(ctx, "SELECT capture_id FROM results WHERE capture_id > $1 ORDER BY capture_id LIMIT 100", last)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var id int64
		if err := found.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, found.Err()
}

func (t *Transfer) word(ctx context.Context, tx *sql.Tx, id int64) error {
	var packed []byte
	var frames string
	if err := tx.QueryRowContext(ctx, "SELECT report, frames FROM results WHERE capture_id = $1", id).Scan(&packed, &frames); err != nil {
		return err
	}
	var report []byte
	if packed != nil {
		var err error
		if report, err = packing.Unpack(packed, maxReport); err != nil {
			return err
		}
	}
	return worker.Index(ctx, t.To, tx, id, report, frames)
}

// jobs has what waits on the old machine wait here.
func (t *Transfer) jobs(ctx context.Context) error {
	done, err := t.done(ctx, "jobs")
	if err != nil || done != 0 {
		return err
	}
	return t.To.Tx(ctx, func(tx *sql.Tx) error {
		n, err := worker.Waiting(ctx, t.From, t.To, tx)
		if err != nil {
			return err
		}
		t.Log.Info("moved", "jobs", n)
		return t.mark(ctx, tx, "jobs", 1)
	})
}
