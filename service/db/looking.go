package db

import (
	"context"
	"database/sql"
)

// Asker is what answers queries: a pool, or a transaction.
type Asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Looking runs f with who answers searches, which find captures by one term and then look through them (Whole). SQLite follows that
// order. PostgreSQL would rather walk all captures until a page is full, since it thinks that words which are rare in general are not
// so for any one: so there joins go from a row to the next table's, in a transaction of its own.
func (d *DB) Looking(ctx context.Context, f func(Asker) error) error {
	if !d.postgres {
		return f(d.Read)
	}
	tx, err := d.Read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing was written
	if _, err := tx.ExecContext(ctx, "SELECT set_config('enable_mergejoin', 'off', true), set_config('enable_hashjoin', 'off', true)"); err != nil {
		return err
	}
	return f(tx)
}

// Whole is a query as a table, d, whose rows are found as if all of them were wanted, the greatest id first.
func (d *DB) Whole(query string) string {
	if !d.postgres {
		return "(" + query + ") d"
	}
	return "(WITH whole AS MATERIALIZED (" + query + ") SELECT id FROM whole ORDER BY id DESC) d"
}
