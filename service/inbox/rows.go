package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/groups"
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

const (
	hasDevices   = "SELECT DISTINCT group_id, device FROM group_devices WHERE (group_id, device) IN (VALUES %s)"
	countDevices = `INSERT INTO group_devices (group_id, device, signature, count, first_seen, last_seen) VALUES %s
		ON CONFLICT (group_id, device, signature) DO UPDATE SET count = group_devices.count + excluded.count, last_seen = excluded.last_seen`
)

// atOnce bounds the rows of a statement.
const atOnce = 128

// release is what crashes of a group are counted by, each day.
type release struct {
	project, group              int64
	signature, product, version string
}

type device struct {
	group           int64
	signature, name string
}

// count counts crashes that were not sent: a row a release and a device, however many there are.
func (r *rows) count(ctx context.Context, list []*waitingCount) error {
	if len(list) == 0 {
		return nil
	}
	releases, devices := map[release]int64{}, map[device]int64{}
	for _, c := range list {
		releases[release{c.Project, c.Group, c.Signature, c.Product, c.Version}]++
		devices[device{c.Group, c.Signature, c.Device}]++
	}
	more, err := r.countDevices(ctx, devices)
	if err != nil {
		return err
	}
	for of, n := range releases {
		_, err := groups.CountedOf(ctx, r.tx, groups.Count{Project: of.project, Group: of.group, Signature: of.signature, Product: of.product,
			Version: of.version, When: db.Milli(r.now), N: n}, more[of.group])
		if err != nil {
			return err
		}
		delete(more, of.group)
	}
	return nil
}

// countDevices counts for devices, many rows a statement, and tells how many more the groups have.
func (r *rows) countDevices(ctx context.Context, devices map[device]int64) (more map[int64]int, err error) {
	more = map[int64]int{}
	for list := range slices.Chunk(slices.Collect(maps.Keys(devices)), atOnce) {
		known, err := r.known(ctx, list)
		if err != nil {
			return nil, err
		}
		var add tuples
		for _, of := range list {
			add.row("", of.group, of.name, of.signature, devices[of], db.Milli(r.now), db.Milli(r.now))
			if one := (device{group: of.group, name: of.name}); of.name != "" && !known[one] {
				known[one] = true
				more[of.group]++
			}
		}
		if _, err := r.tx.ExecContext(ctx, fmt.Sprintf(countDevices, add.text), add.args...); err != nil {
			return nil, err
		}
	}
	return more, nil
}

// known are the devices of a list that their groups have already.
func (r *rows) known(ctx context.Context, list []device) (map[device]bool, error) {
	var ask tuples
	for _, of := range list {
		ask.row("BIGINT", of.group, of.name)
	}
	found, err := r.tx.QueryContext(ctx, fmt.Sprintf(hasDevices, ask.text), ask.args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	known := map[device]bool{}
	for found.Next() {
		var of device
		if err := found.Scan(&of.group, &of.name); err != nil {
			return nil, err
		}
		known[of] = true
	}
	return known, found.Err()
}

// tuples are rows of a statement: ($1, $2), ($3, $4).
type tuples struct {
	text string
	args []any
}

// row adds a row. A type is that of its first value, where the statement does not tell.
func (t *tuples) row(first string, values ...any) {
	marks := make([]string, len(values))
	for i, v := range values {
		t.args = append(t.args, v)
		marks[i] = fmt.Sprintf("$%d", len(t.args))
	}
	if first != "" {
		marks[0] = "CAST(" + marks[0] + " AS " + first + ")"
	}
	if t.text != "" {
		t.text += ", "
	}
	t.text += "(" + strings.Join(marks, ", ") + ")"
}
