package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/backsight/backsight/service/db"
)

// rows are those of a group, in its transaction.
type rows struct {
	tx     *sql.Tx
	now    time.Time
	queued []int64
	used   map[usage]int64 // bytes
	times  map[usage]int64
}

// usage is what a quota is of.
type usage struct{ key, device string }

const (
	insertBlob    = "INSERT INTO blobs (sha256, ref, size, stored, packing, created) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (sha256) DO NOTHING"
	hasBlob       = "SELECT count(*) FROM blobs WHERE sha256 = $1"
	insertCapture = `INSERT INTO captures (name, uniq, project_id, sha256, size, kind, file, device, product, version, received, annotations, status, log)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'queued', $13) ON CONFLICT (uniq) DO NOTHING RETURNING id`
	earlier   = "SELECT name FROM captures WHERE uniq = $1"
	countUsed = `INSERT INTO usage (key, device, day, captures, bytes) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (key, device, day) DO UPDATE SET captures = usage.captures + excluded.captures, bytes = usage.bytes + excluded.bytes`
)

// errVanished says that retention took a body between two looks: the group is tried again.
var errVanished = errors.New("the body that was there is gone")

func (r *rows) addAll(ctx context.Context, list []*waiting) error {
	r.times = map[usage]int64{}
	var s [4]*sql.Stmt
	for i, query := range [len(s)]string{insertBlob, hasBlob, insertCapture, earlier} {
		stmt, err := r.tx.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		defer stmt.Close()
		s[i] = stmt
	}
	for _, w := range list {
		if err := r.body(ctx, w, s[0], s[1]); err != nil {
			return err
		}
		if err := r.capture(ctx, w, s[2], s[3]); err != nil {
			return err
		}
	}
	for u, n := range r.times {
		if _, err := r.tx.ExecContext(ctx, countUsed, u.key, u.device, db.Day(r.now), n, r.used[u]); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) body(ctx context.Context, w *waiting, insert, has *sql.Stmt) error {
	if w.appended {
		_, err := insert.ExecContext(ctx, w.Body.Sum[:], w.ref.String(), w.Size, w.ref.Size, w.Packing, db.Milli(r.now))
		return err
	}
	var n int
	if err := has.QueryRowContext(ctx, w.Body.Sum[:]).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return errVanished
	}
	return nil
}

func (r *rows) capture(ctx context.Context, w *waiting, insert, earlier *sql.Stmt) error {
	name, err := newName()
	if err != nil {
		return err
	}
	annotations := []byte("{}")
	if len(w.Annotations) > 0 {
		if annotations, err = json.Marshal(w.Annotations); err != nil {
			return err
		}
	}
	when := w.When
	if when.IsZero() {
		when = r.now
	}
	var id int64
	err = insert.QueryRowContext(ctx, name, w.unique(), w.Key.Project, w.Body.Sum[:], w.Size, w.Kind, w.File, w.Device, w.Product, w.Version,
		db.Milli(when), string(annotations), w.Log).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return earlier.QueryRowContext(ctx, w.unique()).Scan(&w.name)
	}
	if err != nil {
		return err
	}
	w.name = name
	r.queued = append(r.queued, id)
	r.use(usage{w.Key.Key, ""}, w.Body.Size)
	if w.Key.DeviceDays > 0 {
		r.use(usage{w.Key.Key, w.Device}, w.Body.Size)
	}
	return nil
}

func (r *rows) use(u usage, bytes int64) {
	r.times[u]++
	r.used[u] += bytes
}
