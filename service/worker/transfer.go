package worker

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/backsight/backsight/service/db"
	"github.com/riverqueue/river"
)

// Index has a capture of a database found by its words anew: by its reports, or where these are not kept by the functions that its
// result has, in JSON.
func Index(ctx context.Context, d *db.DB, tx *sql.Tx, id int64, reports []byte, functions string) error {
	c := &capture{id: id}
	err := tx.QueryRowContext(ctx, "SELECT file, device, product, version, annotations, log FROM captures WHERE id = $1", id).
		Scan(&c.file, &c.device, &c.product, &c.version, &c.annotations, &c.log)
	if err != nil {
		return err
	}
	if reports != nil {
		return index(ctx, d, tx, c, reports)
	}
	var list words
	var names []string
	if err := json.Unmarshal([]byte(functions), &names); err != nil {
		return err
	}
	for _, name := range names {
		list.add(name)
	}
	return write(ctx, d, tx, c, &list, &words{}, &words{})
}

// Waiting inserts the jobs of a SQLite database that are not done into another one, and tells how many these are.
func Waiting(ctx context.Context, from, to *db.DB, tx *sql.Tx) (int, error) {
	rows, err := from.Read.QueryContext(ctx, "SELECT kind, json(args), queue, priority FROM river_job WHERE state NOT IN ('completed', 'cancelled', 'discarded')")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var jobs []river.InsertManyParams
	for rows.Next() {
		var kind, args, queue string
		var priority int
		if err := rows.Scan(&kind, &args, &queue, &priority); err != nil {
			return 0, err
		}
		jobs = append(jobs, river.InsertManyParams{Args: other{kind, json.RawMessage(args)}, InsertOpts: &river.InsertOpts{Queue: queue, Priority: priority}})
	}
	if err := rows.Err(); err != nil || len(jobs) == 0 {
		return 0, err
	}
	client, err := river.NewClient(to.Driver(), &river.Config{MaxAttempts: maxAttempts})
	if err != nil {
		return 0, err
	}
	return client.InsertManyFastTx(ctx, tx, jobs)
}

// other is a job as another database has it.
type other struct {
	kind string
	args json.RawMessage
}

// Kind implements river.JobArgs.
func (o other) Kind() string { return o.kind }

// MarshalJSON implements json.Marshaler.
func (o other) MarshalJSON() ([]byte, error) { return o.args, nil }
