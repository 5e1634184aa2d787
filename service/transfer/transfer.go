// Package transfer moves what one machine has to what several share: from SQLite and a disk to PostgreSQL and S3.
//
//	bodies, each compared with its sum ─► rows, table by table ─► words, jobs ─► counts and digests of both compared
//
// It can be ended at any moment and run again: what has arrived is not sent twice. The source is only read.
package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/store"
)

// Transfer is from where to where.
type Transfer struct {
	From, To *db.DB
	// Bodies has the bodies of From, Kept takes them.
	Bodies, Kept store.Store
	Log          *slog.Logger
}

// ErrTaken says that the database that is moved to has captures that came otherwise.
var ErrTaken = errors.New("the database has captures already, and no transfer that was begun")

// ErrDiffers says that something is not there as it was.
var ErrDiffers = errors.New("it is not the same on both sides")

// tables are what is copied as it is, in the order of their references. Bodies, words and jobs are moved otherwise; nodes are not.
func tables() []string {
	return []string{"projects", "keys", "usage", "captures", "groups", "group_signatures", "group_counts", "group_devices", "results", "binaries",
		"missing", "merges", "rules", "webhooks", "deliveries", "users", "invitations", "sessions", "audit", "group_events", "group_clues"}
}

// Run moves all that is not moved yet, and compares both sides.
func (t *Transfer) Run(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	if err := t.bodies(ctx); err != nil {
		return fmt.Errorf("bodies: %w", err)
	}
	for _, table := range tables() {
		n, err := t.table(ctx, table)
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		t.Log.Info("moved", "table", table, "rows", n)
	}
	for _, step := range []func(context.Context) error{t.words, t.jobs, t.numbers, t.compare} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the table of what was moved, and refuses a database that is in use.
func (t *Transfer) begin(ctx context.Context) error {
	var begun, captures int
	if err := t.To.Read.QueryRowContext(ctx, "SELECT count(*) FROM information_schema.tables WHERE table_name = 'transfer'").Scan(&begun); err != nil {
		return err
	}
	if err := t.To.Read.QueryRowContext(ctx, "SELECT count(*) FROM captures").Scan(&captures); err != nil {
		return err
	}
	if begun == 0 && captures > 0 {
		return ErrTaken
	}
	_, err := t.To.Write.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS transfer (name TEXT PRIMARY KEY, last BIGINT NOT NULL)")
	return err
}

// done is the number of the last row of a table that was moved.
func (t *Transfer) done(ctx context.Context, name string) (last int64, err error) {
	err = t.To.Read.QueryRowContext(ctx, "SELECT coalesce(max(last), 0) FROM transfer WHERE name = $1", name).Scan(&last)
	return last, err
}

func (t *Transfer) mark(ctx context.Context, tx *sql.Tx, name string, last int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO transfer (name, last) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET last = excluded.last", name, last)
	return err
}

// batch bounds the rows of a transaction, batchBytes what they have of texts and bytes.
const batch, batchBytes = 500, 16 << 20

// table moves the rows of a table behind those that were moved. Rows of tables without numbers are all sent again: those that are
// there stay.
func (t *Transfer) table(ctx context.Context, table string) (n int, err error) {
	last, err := t.done(ctx, table)
	if err != nil {
		return 0, err
	}
	for {
		rows, err := read(ctx, t.From.Read, table, last)
		if err != nil || len(rows.list) == 0 {
			return n, err
		}
		err = t.To.Tx(ctx, func(tx *sql.Tx) error {
			for _, row := range rows.list {
				if err := insert(ctx, tx, table, rows.columns, row); err != nil {
					return err
				}
			}
			return t.mark(ctx, tx, table, rows.last)
		})
		if err != nil {
			return n, err
		}
		n, last = n+len(rows.list), rows.last
	}
}

func insert(ctx context.Context, tx *sql.Tx, table string, columns []string, row []any) error {
	marks := make([]string, len(row))
	for i := range row {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING", table, strings.Join(columns, ", "),
		strings.Join(marks, ", ")), row...)
	return err
}

// numbers has new rows numbered behind those that were moved.
func (t *Transfer) numbers(ctx context.Context) error {
	return t.To.Tx(ctx, func(tx *sql.Tx) error {
		for _, table := range tables() {
			var sequence sql.NullString
			err := tx.QueryRowContext(ctx, `SELECT pg_get_serial_sequence(table_name, 'id') FROM information_schema.columns
				WHERE table_name = $1 AND column_name = 'id'`, table).Scan(&sequence)
			if errors.Is(err, sql.ErrNoRows) || err == nil && !sequence.Valid {
				continue
			}
			if err == nil {
				_, err = tx.ExecContext(ctx, fmt.Sprintf("SELECT setval('%s', greatest(1, (SELECT coalesce(max(id), 0) FROM %s)))", sequence.String, table))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
