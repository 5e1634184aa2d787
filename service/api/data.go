// Package api has what the page and other programs ask the service: groups, captures, searches, decisions of people; as Go values,
// and as JSON (openapi.yaml). It also tells others of what has happened, by webhooks and mail.
package api

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/backsight/backsight/service/db"
)

// Data is the service's database as the page and the API see it.
type Data struct {
	db  *db.DB
	now func() time.Time
}

// NewData is the data of a database by a clock.
func NewData(d *db.DB, now func() time.Time) *Data { return &Data{d, now} }

// ErrNone says that there is no such thing.
var ErrNone = errors.New("there is no such thing here")

// Project is whose captures are kept apart from others'.
type Project struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Projects are all projects, by name.
func (d *Data) Projects(ctx context.Context) (list []Project, err error) {
	return all(ctx, d.db.Read, func(r *sql.Rows, p *Project) error { return r.Scan(&p.ID, &p.Name) }, "SELECT id, name FROM projects ORDER BY name LIMIT 1000")
}

// all are the rows of a query.
func all[T any](ctx context.Context, q db.Asker, scan func(*sql.Rows, *T) error, query string, args ...any) (list []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// none makes ErrNone of a query without a row.
func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNone
	}
	return err
}

// at is a time of the tables.
func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
