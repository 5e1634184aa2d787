package transfer

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/service/db"
)

// rows are some of a table, with the number of the last one.
type rows struct {
	columns []string
	list    [][]any
	last    int64
	size    int
}

// unnumbered are SQLite's tables WITHOUT ROWID: they are read as a whole, in the order of their first column's values.
func unnumbered(table string) bool {
	return slices.Contains([]string{"group_counts", "group_devices", "group_clues"}, table)
}

// read reads the next rows of a table of SQLite. Of a table without numbers these are those of the next groups, whose number is last.
func read(ctx context.Context, from *sql.DB, table string, last int64) (*rows, error) {
	query := fmt.Sprintf("SELECT rowid, * FROM %s WHERE rowid > $1 ORDER BY rowid LIMIT %d", table, batch)
	if unnumbered(table) { // whole groups
		query = fmt.Sprintf("SELECT group_id, * FROM %s WHERE group_id = (SELECT min(group_id) FROM %s WHERE group_id > $1)", table, table)
	}
	found, err := from.QueryContext(ctx, query, last)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	types, err := found.ColumnTypes()
	if err != nil {
		return nil, err
	}
	out := &rows{last: last}
	for _, c := range types[1:] {
		out.columns = append(out.columns, c.Name())
	}
	for found.Next() && out.size < batchBytes {
		row, err := values(found, types)
		if err != nil {
			return nil, err
		}
		out.last, _ = row[0].(int64) // its number
		out.list = append(out.list, row[1:])
		for _, v := range row {
			if b, ok := v.([]byte); ok {
				out.size += len(b)
			}
		}
	}
	return out, found.Err()
}

// values are those of a row, as PostgreSQL has them: bytes and texts by the type that the column has, whatever SQLite took.
func values(found *sql.Rows, types []*sql.ColumnType) ([]any, error) {
	row, places := make([]any, len(types)), make([]any, len(types))
	for i := range row {
		places[i] = &row[i]
	}
	if err := found.Scan(places...); err != nil {
		return nil, err
	}
	for i, v := range row {
		isBytes := slices.Contains([]string{"BLOB", "BYTEA"}, types[i].DatabaseTypeName())
		switch v := v.(type) {
		case string:
			row[i] = db.PlainText(v)
			if isBytes {
				row[i] = []byte(v)
			}
		case []byte:
			if !isBytes {
				row[i] = db.PlainText(string(v))
			}
		}
	}
	return row, nil
}

// digest is of rows, in whatever order they come: each row's SHA-256, added up.
type digest struct {
	Rows int64
	Sums [4]uint64
}

func (d *digest) add(row []any) {
	h := sha256.New()
	for _, v := range row {
		if f, ok := v.(float64); ok && f == float64(int64(f)) {
			v = int64(f) // SQLite has 1.0 as 1
		}
		fmt.Fprintf(h, "%T %v\x00", v, v)
	}
	sum := h.Sum(nil)
	d.Rows++
	for i := range d.Sums {
		d.Sums[i] += binary.LittleEndian.Uint64(sum[8*i:])
	}
}

// digestOf reads all of a table.
func digestOf(ctx context.Context, q *sql.DB, table string, columns []string) (d digest, err error) {
	found, err := q.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s", strings.Join(columns, ", "), table))
	if err != nil {
		return d, err
	}
	defer found.Close()
	types, err := found.ColumnTypes()
	if err != nil {
		return d, err
	}
	for found.Next() {
		row, err := values(found, types)
		if err != nil {
			return d, err
		}
		d.add(row)
	}
	return d, found.Err()
}

// compare compares what both sides have of each table, and which bodies.
func (t *Transfer) compare(ctx context.Context) error {
	for _, table := range append(tables(), "blobs") {
		columns := []string{"sha256", "size", "packing", "created"} // a body is elsewhere
		if table != "blobs" {
			one, err := read(ctx, t.From.Read, table, 0)
			if err != nil {
				return err
			}
			columns = one.columns
		}
		was, err := digestOf(ctx, t.From.Read, table, columns)
		if err != nil {
			return err
		}
		now, err := digestOf(ctx, t.To.Read, table, columns)
		if err != nil {
			return err
		}
		if was != now {
			return fmt.Errorf("%s: %w: %d rows, %d now", table, ErrDiffers, was.Rows, now.Rows)
		}
		t.Log.Info("the same on both sides", "table", table, "rows", now.Rows)
	}
	return nil
}
