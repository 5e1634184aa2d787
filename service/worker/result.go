package worker

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/groups"
	"github.com/backsight/backsight/service/packing"
)

// capture is a row of captures.
type capture struct {
	id                       int64
	report, file             string
	project                  int64
	device, product, version string
	received                 int64
	annotations, log         string
	kept, done               bool
	before                   int64  // the group of the result that there is
	aside                    string // why it is not tried any more
}

// name is what reports call the capture.
func (c *capture) name() string {
	if c.file != "" {
		return c.file
	}
	return c.report
}

// capture reads a row, nil where there is none.
func (w *Workers) capture(ctx context.Context, id int64) (*capture, error) {
	const read = `SELECT c.name, c.file, c.project_id, c.device, c.product, c.version, c.received, c.annotations, c.log, c.kept,
		r.capture_id IS NOT NULL, coalesce(r.group_id, 0) FROM captures c LEFT JOIN results r ON r.capture_id = c.id WHERE c.id = $1`
	c := &capture{id: id}
	err := w.DB.Read.QueryRowContext(ctx, read, id).Scan(&c.report, &c.file, &c.project, &c.device, &c.product, &c.version, &c.received,
		&c.annotations, &c.log, &c.kept, &c.done, &c.before)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return c, err
}

// naming is the report that names a capture: the first that is signed, else the first.
func naming(ctx context.Context, b []byte) (*jsonreport.Report, error) {
	var found *jsonreport.Report
	err := jsonreport.Each(ctx, bytes.NewReader(b), func(r *jsonreport.Report) error {
		if found == nil || found.Named() == nil && r.Named() != nil {
			found = r
		}
		return nil
	})
	if found == nil && err == nil {
		found = &jsonreport.Report{Status: "ERROR"}
	}
	return found, err
}

// write writes a result, and all that follows of it.
func (w *Workers) write(ctx context.Context, tx *sql.Tx, c *capture, result *child.Result, began time.Time) error {
	rep, err := naming(ctx, result.JSON)
	if err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, "SELECT group_id FROM results WHERE capture_id = $1", c.id).Scan(&c.before); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	of, err := groups.Assign(ctx, tx, &groups.Crash{Capture: c.id, Project: c.project, Device: c.device, Product: c.product, Version: c.version,
		Received: c.received, Report: rep, Again: c.before})
	if err != nil {
		return err
	}
	keep := true
	if c.before == 0 {
		if keep, err = w.keeps(ctx, tx, c, of.Group); err != nil {
			return err
		}
	}
	if err := w.row(ctx, tx, c, rep, result, &of, keep); err != nil {
		return err
	}
	if err := index(ctx, w.DB, tx, c, result.JSON); err != nil {
		return err
	}
	if !keep {
		return nil
	}
	return w.missing(ctx, tx, c, result.JSON, began)
}

const upsert = `INSERT INTO results (capture_id, group_id, engine, created, status, exact, stable, title, signal, address, frames, report, page)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
	ON CONFLICT (capture_id) DO UPDATE SET group_id = excluded.group_id, engine = excluded.engine, created = excluded.created,
	status = excluded.status, exact = excluded.exact, stable = excluded.stable, title = excluded.title, signal = excluded.signal,
	address = excluded.address, frames = excluded.frames, report = excluded.report, page = excluded.page`

func (w *Workers) row(ctx context.Context, tx *sql.Tx, c *capture, rep *jsonreport.Report, result *child.Result, of *groups.Assigned, keep bool) error {
	frames, err := json.Marshal(of.Frames)
	if err != nil {
		return err
	}
	var report, page []byte
	if keep {
		if report, err = packing.Pack(result.JSON); err != nil {
			return err
		}
		if len(result.Page) > 0 {
			if page, err = packing.Pack(result.Page); err != nil {
				return err
			}
		}
	}
	_, err = tx.ExecContext(ctx, upsert, c.id, of.Group, w.Engine, db.Milli(time.Now()), rep.Status, of.Exact, of.Stable, of.Title, of.Signal,
		of.Address, string(frames), report, page)
	if err != nil {
		return err
	}
	status, why := "done", ""
	switch {
	case c.aside != "":
		status, why = "aside", c.aside
	case len(rep.Threads) == 0:
		if status = "failed"; len(rep.Own.Issues) > 0 {
			why = rep.Own.Issues[0]
		}
	}
	_, err = tx.ExecContext(ctx, "UPDATE captures SET status = $2, reason = $3 WHERE id = $1", c.id, status, why)
	return err
}
